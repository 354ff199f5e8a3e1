/** Prepares the operation of a request, and decides whether it may run. */
import { GraphQLError } from 'graphql'
import type { ErrorCode } from '../../core/errors.ts'
import { isPromise } from '../execution/run.ts'
import { COST_PER_MS, rateLimitedError, type RateLimits } from '../limits/rate-limits.ts'
import type { Prepared, PreparedOperation } from '../operation/prepared-operation.ts'
import type { Gate } from '../operation/preparing.ts'
import type { Lookup } from '../persisted/lookup.ts'
import type { Caller } from './caller.ts'
import type { CallerChecks } from './caller-checks.ts'
import type { Metrics } from './metrics.ts'
import type { OperationRequest } from './operation-request.ts'
import type { Refusal, Refuse } from './refusal.ts'

export type PreparationOptions = {
  readonly limits?: RateLimits | undefined
  /** The highest cost that an operation may have with its variables. Absent: unlimited. */
  readonly operationCostMax?: number
}

export type Preparation = {
  /** Errors come back formatted and counted. The result is a promise if the operation is long and new. */
  prepare(request: OperationRequest, caller: Caller): PreparedOperation | Refusal | Promise<PreparedOperation | Refusal>
  /**
   * Resolves to a refusal if the operation may not run now. Every door calls it before it runs an operation. Undefined: it may run at once.
   */
  admit(prepared: PreparedOperation, request: OperationRequest, caller: Caller): Promise<Refusal | undefined> | undefined
}

export function makePreparation(
  lookup: Lookup,
  { limits, operationCostMax = Infinity }: PreparationOptions,
  waiting: CallerChecks['waiting'],
  gateOf: (caller: Caller) => Gate,
  refuse: Refuse,
  metrics: Pick<Metrics, 'countCost'>,
): Preparation {
  function checked(prepared: Prepared, request: OperationRequest, caller: Caller): PreparedOperation | Refusal {
    if ('errors' in prepared) {
      // Invalid requests cost too, even short ones. The answer does not wait for the counting.
      void limits?.spend(caller, 1)
      return refuse.with(prepared.errors)
    }
    if (operationCostMax === Infinity) return prepared
    const startedAt = limits === undefined ? 0 : performance.now()
    request.cost = prepared.cost?.(request.variables)
    const cost = request.cost ?? 0
    if (cost <= operationCostMax) {
      metrics.countCost(prepared.kind, prepared.name, cost)
      return prepared
    }
    // Computing the cost of a refused operation is charged as well.
    void limits?.spend(caller, Math.ceil((performance.now() - startedAt) * COST_PER_MS))
    return refuse.with([tooCostly(prepared, cost, operationCostMax)])
  }

  return {
    prepare(request, caller) {
      const refused = waiting(caller)
      if (refused !== undefined) return refused
      const prepared = lookup(request, caller.client, gateOf(caller))
      return isPromise(prepared) ? prepared.then((known) => checked(known, request, caller)) : checked(prepared, request, caller)
    },
    admit(prepared, request, caller) {
      if (limits === undefined || limits.isOff?.() === true) return undefined
      const refused = limits.spend(caller, costOf(prepared, request))
      if (refused === undefined) return undefined
      return Promise.resolve(refused).then((known) => (known === undefined ? undefined : refuse.with([rateLimitedError(known)])))
    },
  }
}

/** The cost of a request that `prepare` let pass. */
export function costOf(prepared: PreparedOperation, request: OperationRequest): number {
  return request.cost ?? prepared.cost?.(request.variables) ?? 1
}

function tooCostly({ name }: PreparedOperation, cost: number, costMax: number): GraphQLError {
  const [amount, advice] = cost < Number.MAX_SAFE_INTEGER ? [cost, ''] : ['more than can be counted', ' or for less of the schema']
  return new GraphQLError(
    `${name === undefined ? 'the operation' : `operation ${name}`} costs ${amount} with these variables: at most ${costMax} are allowed; ask for shorter lists${advice}, or split it`,
    { extensions: { code: 'OPERATION_TOO_COSTLY' satisfies ErrorCode, cost, costMax } },
  )
}
