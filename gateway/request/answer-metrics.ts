/**
 * Metrics of wrong and partial answers, for service levels. An operation has failed if one of its errors is not a mistake of the caller:
 * a code with the HTTP status 500 or higher (`core/errors.ts`). A rejected input or a refused caller is no failure, and neither is an
 * answer that lacks a store and names it.
 */
import { Counter, type Registry } from '@prometheus-io/client'
import type { GraphQLFormattedError } from 'graphql'
import { ERRORS, type ErrorCode } from '../../core/errors.ts'
import { makeBoundedNames } from '../limits/bounded-names.ts'

/** Remote subgraphs have codes of their own. */
const CODES_MAX = 100
const KINDS = ['query', 'mutation', 'subscription', 'unknown'] as const
export type OperationKind = (typeof KINDS)[number]

export type AnswerMetrics = {
  /** `errors`: those of one answer, formatted. */
  countErrors(kind: OperationKind, errors: readonly Pick<GraphQLFormattedError, 'extensions'>[] | undefined): void
  /** The stores that an answer lacked. */
  countDegraded(stores: Iterable<string> | undefined): void
}

export function makeAnswerMetrics(registry: Registry): AnswerMetrics {
  const registers = [registry]
  const errorsTotal = new Counter({
    name: 'tidemark_gateway_errors_total',
    help: 'Errors in answers, by code. Rejected inputs of mutations are not errors.',
    labelNames: ['code'],
    registers,
  })
  const failed = new Counter({
    name: 'tidemark_gateway_failed_total',
    help: 'Operations with an error that is not a mistake of the caller (a code with status 500 or higher), by kind.',
    labelNames: ['kind'],
    registers,
  })
  const degraded = new Counter({
    name: 'tidemark_gateway_degraded_total',
    help: 'Answers that lacked a store and named it in extensions.degraded, by store.',
    labelNames: ['store'],
    registers,
  })
  // A rate needs the sample before the first failure.
  for (const kind of KINDS) failed.inc({ kind }, 0)
  const boundedCode = makeBoundedNames(CODES_MAX, 'other')

  return {
    countErrors(kind, errors) {
      if (errors === undefined || errors.length === 0) return
      const codes = errors.map(({ extensions }) => extensions?.['code']).map((code) => (typeof code === 'string' ? code : 'none'))
      for (const code of codes) errorsTotal.inc({ code: boundedCode(code) })
      if (codes.some(isFailure)) failed.inc({ kind })
    },
    countDegraded(stores) {
      if (stores !== undefined) for (const store of stores) degraded.inc({ store })
    },
  }
}

function isFailure(code: string): boolean {
  return Object.hasOwn(ERRORS, code) && ERRORS[code as ErrorCode].status >= 500
}
