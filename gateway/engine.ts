/**
 * The engine: a supergraph and ways to reach its subgraphs in, answers out. `prepare` does all that depends on the text
 * of an operation alone (parse, validate, judge, plan, compile) and keeps the result; a request only runs it.
 *
 *   operations.ts      text → a valid operation
 *   conditions.ts      @skip and @include decided; one variant per combination that occurs
 *   plan-document.ts   what of it the planner gets to see
 *   planner.ts         operation → plan
 *   executor.ts        plan → steps → data; entities, representations, flatten, merge and rewrites are its parts
 *   authorization/     what of it the one who asks may see; one form per set of grants
 *   shape.ts           the answer's fields, in order
 *   replay.ts          an answer all parts of which came again
 *   projection.ts      data → answer, the fast way; projection-slow.ts with nulls and errors
 */
import type { GraphQLError, GraphQLSchema } from 'graphql'
import { TidemarkError } from '../core/errors.ts'
import type { Viewer } from '../core/viewer.ts'
import { authorize } from './authorization/authorize.ts'
import { noteDenials } from './authorization/denials.ts'
import { deniedTo, findGuards, withoutDenied } from './authorization/guarded.ts'
import { readAccessRules } from './authorization/rules.ts'
import { readCostRules } from './cost-rules.ts'
import { cachePolicyOf, readCacheHints } from './cache/policy.ts'
import { decideConditions } from './conditions.ts'
import type { Values } from './conditions.ts'
import { compilePlan } from './executor.ts'
import { makeLru } from './lru.ts'
import type { Judge, ReadOperation } from './operations.ts'
import { compileError, readOperation } from './operations.ts'
import { compileCost } from './operation-cost.ts'
import { makeDataKeys, splitOperation } from './plan-document.ts'
import { makePlanner } from './planner.ts'
import { compileIntrospection, compileOperation } from './prepared.ts'
import type { PreparedOperation, Variant } from './prepared.ts'
import { compileProjection } from './projection.ts'
import { makeReplays } from './replay.ts'
import { makeShape } from './shape.ts'
import type { Transport } from './transports/transport.ts'

export type { PreparedOperation, RequestContext, Variables } from './prepared.ts'

export type EngineOptions = {
  /** Prepared operations kept. Minimum 1. */
  compiledMax: number
  /** Judged once per operation on the validated document, before planning; returned errors refuse it. */
  judge?: Judge
  /** Tokens an operation may have. */
  tokensMax: number
  /** Items of a list about which nothing is known; see cost-rules.ts. Default 5. */
  listSizeAssumed?: number
  /** Whether clients may ask for the schema; without it they are not told either which names they may have meant. Default true. */
  introspection?: boolean
  /** What stands in for each prepared operation, made once; see generation.ts. */
  decorate?: (prepared: PreparedOperation, query: string, operationName: string | undefined) => PreparedOperation
}

export type Engine = {
  /** The API schema that clients see (introspection, validation). */
  readonly schema: GraphQLSchema
  /** Parse, validate, judge, plan, compile; cached by text and operation name. Errors come back, never thrown. */
  prepare(query: string, operationName?: string): PreparedOperation | { readonly errors: readonly GraphQLError[] }
  /**
   * Milliseconds spent so far on reading, planning and compiling, which is never waited for: the difference between two
   * calls is what lay between them. Absent: nobody counts.
   */
  preparingMs?(): number
}

export type MadeEngine = Engine & {
  /** Forgets what was prepared. A subscription that goes on after the engine was replaced must not keep all of it. */
  forget(): void
}

export type Subgraph = { name: string; transport: Transport }

const LIST_SIZE_ASSUMED = 5
/** Longer texts are prepared again each time: a few of them must not fill the memory that `compiledMax` bounds. */
const CACHED_TEXT_MAX = 65_536

/** Throws CONFIG_INVALID if the supergraph cannot be read or names a subgraph that is not given. */
export function makeEngine(supergraphSdl: string, subgraphs: readonly Subgraph[], options: EngineOptions): MadeEngine {
  const planner = makePlanner(supergraphSdl)
  const cacheHints = readCacheHints(supergraphSdl)
  const transports = new Map(subgraphs.map(({ name, transport }) => [name, transport]))
  for (const name of planner.subgraphs) {
    if (!transports.has(name))
      throw new TidemarkError('CONFIG_INVALID', `the supergraph has a subgraph "${name}": configure how to reach it, or compose without it`)
  }
  const prepared = makeLru<PreparedOperation>(options.compiledMax)
  const replays = makeReplays()

  const meter = makeMeter()
  let variants = 0

  const rules = readAccessRules(supergraphSdl)
  const costRules = readCostRules(supergraphSdl, options.listSizeAssumed ?? LIST_SIZE_ASSUMED)

  const compileVariant = (read: ReadOperation, variables: Values, caller: { viewer: Viewer | undefined } | undefined): Variant => {
    const decided = decideConditions(read, variables)
    const denied =
      caller === undefined || rules === undefined ? undefined : deniedTo(caller.viewer, findGuards(planner.schema, decided, rules))
    const allowed = denied === undefined ? decided : withoutDenied(decided, denied)
    const dataKeys = makeDataKeys(decided.operation, decided.fragments, planner.fieldsWithArguments)
    const { planned, introspection } = splitOperation(allowed.operation, allowed.fragments, dataKeys)
    const shape = makeShape({ schema: planner.schema, ...decided, dataKeys, denied })
    const project = compileProjection(shape)
    const isConstant = (read.operation.variableDefinitions ?? []).length === 0
    return {
      key: `${(variants += 1)} `,
      plan: compilePlan(planned === undefined ? undefined : planner.plan(planned), transports, planner.possible),
      introspect: compileIntrospection(planner.schema, introspection, isConstant),
      project: denied === undefined ? project : (run) => (noteDenials(shape, run), project(run)),
    }
  }

  const compile = (query: string, operationName: string | undefined): PreparedOperation | { readonly errors: readonly GraphQLError[] } => {
    const read = readOperation(planner.schema, query, operationName, options)
    if ('errors' in read) return read
    try {
      const cost = compileCost(planner.schema, read.operation, read.fragments, costRules)
      const cache = cachePolicyOf(planner.schema, read, cacheHints)
      const compiled = compileOperation(planner.schema, read, replays, (variables) =>
        meter.time(() => compileVariant(read, variables, undefined)),
      )
      const whole = { ...compiled, cost, ...(cache === undefined ? {} : { cache }) }
      if (rules === undefined) return whole
      return authorize(whole, read, findGuards(planner.schema, read, rules), (viewer) =>
        compileOperation(planner.schema, read, replays, (variables) => meter.time(() => compileVariant(read, variables, { viewer }))),
      )
    } catch (error) {
      return { errors: [compileError(error)] }
    }
  }

  return {
    schema: planner.schema,
    prepare(query, operationName) {
      const key = operationName === undefined ? query : `${operationName.length}:${operationName}${query}`
      const known = prepared.get(key)
      if (known !== undefined) return known
      const operation = meter.time(() => compile(query, operationName))
      if ('errors' in operation) return operation
      const decorated = options.decorate?.(operation, query, operationName) ?? operation
      if (query.length <= CACHED_TEXT_MAX) prepared.set(key, decorated)
      return decorated
    },
    preparingMs: meter.spentMs,
    forget() {
      prepared.clear()
      replays.clear()
    },
  }
}

/** Time spent on work, some of which may be part of other work. */
function makeMeter() {
  let spentMs = 0
  let running = false
  return {
    spentMs: () => spentMs,
    time<T>(work: () => T): T {
      if (running) return work()
      running = true
      const startedAt = performance.now()
      try {
        return work()
      } finally {
        running = false
        spentMs += performance.now() - startedAt
      }
    },
  }
}
