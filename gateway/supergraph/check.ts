/**
 * Checks a graph for its existing clients. It lists the changes since an older graph, checks that every known operation still validates
 * and plans, computes the cost of each, and runs the linter. It fetches and runs nothing.
 */
import { GraphQLError, parse, type GraphQLSchema } from 'graphql'
import { conditionVariables, decideConditions } from '../operation/conditions.ts'
import type { SubgraphSdl } from './subgraph-sdl.ts'
import { readCostRules, type CostRules } from '../limits/cost-rules.ts'
import { compileCost } from '../limits/operation-cost.ts'
import { readOperation, withCause, type Judge } from '../operation/operations.ts'
import { runNow } from '../operation/preparing.ts'
import { makeDataKeys, splitOperation } from '../operation/plan-document.ts'
import { makePlanner, type Planner } from '../operation/planner.ts'
import { findChanges, type SchemaChange } from './schema-changes.ts'
import type { KnownOperation } from './known-operations.ts'
import { lintSubgraphs, type Warning } from './lint.ts'
import type { LoadedSupergraph, Placement } from './load.ts'
import { sizeOfOperation, type OperationSize } from './operation-size.ts'
import { summarizePlan, type PlanSummary } from './plan-summary.ts'
import { usedCoordinates } from './usage.ts'

export type OperationReport = {
  readonly name: string
  readonly file: string
  /** Reasons why it cannot be served. Empty if it can. */
  readonly problems: readonly string[]
  /** Null if it cannot be served. */
  readonly cost: (OperationSize & PlanSummary & { readonly points: number }) | null
}

export type CheckReport = {
  /** False if the graph breaks a client. */
  readonly ok: boolean
  readonly hash: string
  readonly subgraphs: readonly Placement[]
  /** Null if there was no older graph to compare with. */
  readonly changes: readonly SchemaChange[] | null
  readonly operations: readonly OperationReport[]
  readonly warnings: readonly Warning[]
}

export type CheckInput = {
  readonly loaded: LoadedSupergraph
  /** The subgraphs' SDLs. Empty for a supergraph that was composed elsewhere: the linter needs the SDLs. */
  readonly subgraphs: readonly SubgraphSdl[]
  /** The API schema of the older graph. */
  readonly before: GraphQLSchema | undefined
  /** Undefined: the known operations are not given, and every part counts as used. */
  readonly operations: readonly KnownOperation[] | undefined
  readonly tokensMax: number
  readonly judge: Judge
  /** The maximum cost of an operation in points; see operation-cost.ts. */
  readonly costMax: number
  /** The assumed length of a list without a declared size. */
  readonly listSizeAssumed: number
}

export function checkSupergraph(input: CheckInput): CheckReport {
  const { loaded, before, operations } = input
  const planner = makePlanner(loaded.sdl)
  const costRules = readCostRules(loaded.sdl, input.listSizeAssumed)
  const reports = (operations ?? []).map((operation) => checkOperation(planner, costRules, operation, input))
  const changes = before === undefined ? null : findChanges(before, planner.schema, usagesOf(before, operations ?? []))
  const breaks = (changes ?? []).some(({ severity, usedBy }) => severity === 'breaking' && (operations === undefined || usedBy.length > 0))
  return {
    ok: !breaks && reports.every(({ problems }) => problems.length === 0),
    hash: loaded.hash,
    subgraphs: loaded.placements,
    changes,
    operations: reports,
    warnings: [...lintSubgraphs(input.subgraphs), ...gapWarnings(loaded)],
  }
}

/** Only a warning: a deployment may deliberately serve a part of its configuration. */
export function gapWarnings({ gaps }: LoadedSupergraph): Warning[] {
  return gaps.map((sentence) => ({ rule: 'supergraph-lacks-ours', subgraph: '', place: '', sentence }))
}

function checkOperation(planner: Planner, costRules: CostRules, { name, text, file }: KnownOperation, input: CheckInput): OperationReport {
  const read = runNow(readOperation(planner.schema, text, undefined, input))
  if ('errors' in read) return { name, file, problems: read.errors.map(({ message }) => message), cost: null }
  try {
    // The variables are unknown: lists have their default lengths or the assumed length.
    const points = compileCost(planner.schema, read.operation, read.fragments, costRules)(undefined)
    if (points > input.costMax) return { name, file, problems: [tooCostly(points, input.costMax)], cost: null }
    // As in the engine, with all fields that conditions may include.
    const decided = decideConditions(read, Object.fromEntries(conditionVariables(read.operation, read.fragments)))
    const dataKeys = makeDataKeys(decided.operation, decided.fragments, planner.fieldsWithArguments)
    const { planned } = splitOperation(decided.operation, decided.fragments, dataKeys)
    const plan = planned === undefined ? undefined : planner.plan(planned)
    return { name, file, problems: [], cost: { ...sizeOfOperation(decided), ...summarizePlan(plan), points } }
  } catch (error) {
    return { name, file, problems: [error instanceof GraphQLError ? withCause(error) : (error as Error).message], cost: null }
  }
}

function tooCostly(points: number, costMax: number): string {
  return `It costs ${points} points without variables, more than ${costMax}: ask for shorter lists, split it, or raise server.operationCostMax.`
}

/** An operation that is not GraphQL uses nothing. Its report has the error. */
function usagesOf(schema: GraphQLSchema, operations: readonly KnownOperation[]): { name: string; used: ReadonlySet<string> }[] {
  return operations.flatMap(({ name, text }) => {
    try {
      return [{ name, used: usedCoordinates(schema, parse(text)) }]
    } catch {
      return []
    }
  })
}
