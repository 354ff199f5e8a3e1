/**
 * The engine answers operations from a supergraph and transports to its subgraphs. `prepare` does all work that depends only
 * on the text of an operation (parse, validate, judge, plan, compile) and keeps the result; a request only runs it.
 *
 *   operations.ts      text → a valid operation
 *   conditions.ts      @skip and @include decided; one variant per combination that occurs
 *   plan-document.ts   the part of the operation that the planner sees
 *   planner.ts         operation → plan
 *   executor.ts        plan → steps → data; entities, representations, flatten, merge and rewrites are its parts
 *   authorization/     the part of the operation that the viewer may see; one form per set of grants
 *   preparing.ts       all of the above in steps, charged to the caller
 *   memory/            the memory budget and eviction
 *   shape.ts           the answer's fields, in order
 *   replay.ts          a recorded answer, if all of its parts come again
 *   projection.ts      data → answer, the fast way; projection-slow.ts with nulls and errors
 */
import { GraphQLError } from 'graphql'
import type { GraphQLSchema } from 'graphql'
import { TidemarkError } from '../../core/errors.ts'
import type { Viewer } from '../../core/viewer.ts'
import { authorize } from '../authorization/authorize.ts'
import { noteDenials } from '../authorization/denials.ts'
import { deniedTo, findGuards, withoutDenied } from '../authorization/guarded.ts'
import { readAccessRules } from '../authorization/rules.ts'
import { readCostRules } from '../limits/cost-rules.ts'
import { cachePolicyOf, readCacheHints } from '../cache/policy.ts'
import { decideConditions } from './conditions.ts'
import type { Decided, Values } from './conditions.ts'
import { compilePlan } from '../execution/executor.ts'
import { makeClientMemory, type ClientMemory, type Holding } from '../memory/client-memory.ts'
import { compileCostMs, countNodes, operationBytes, variantBytes } from '../memory/estimates.ts'
import { makeFamily, makePinnedFamily, NOTHING_HELD, type Family } from '../memory/family.ts'
import type { Judge, ReadOperation } from './operations.ts'
import { compileError, readOperation } from './operations.ts'
import { compileCost } from '../limits/operation-cost.ts'
import { makeDataKeys, splitOperation } from './plan-document.ts'
import { makePlanner } from './planner.ts'
import { compileIntrospection, compileOperation } from './prepared.ts'
import type { PreparedOperation, Variant } from './prepared.ts'
import { makePreparing, runNow, type Gate, type Work } from './preparing.ts'
import { compileProjection } from '../execution/projection.ts'
import { makeReplays } from '../execution/replay.ts'
import { isPromise } from '../execution/run.ts'
import { makeShape } from '../execution/shape.ts'
import type { Transport } from '../transports/transport.ts'

export type { PreparedOperation, RequestContext, Variables } from './prepared.ts'

export type EngineOptions = {
  /** The memory for values that clients cause. Default: a separate memory of the default size. */
  memory?: ClientMemory
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

export type Prepared = PreparedOperation | { readonly errors: readonly GraphQLError[] }

export type Engine = {
  /** The API schema that clients see (introspection, validation). */
  readonly schema: GraphQLSchema
  /** Parse, validate, judge, plan, compile; cached by text and operation name. Errors come back, never thrown. */
  prepare(query: string, operationName?: string): Prepared
  /**
   * Prepares an operation for a client. The gate is asked before work that takes time. The result is a promise if the text is long: it is
   * then prepared in several turns of the event loop. A variant of an operation with guarded fields is compiled when it first runs.
   */
  prepareFor(gate: Gate, query: string, operationName?: string): Prepared | Promise<Prepared>
  /** Prepares an operation for the operator. It is never evicted and not counted in the memory of clients; the caller keeps it. */
  pin(query: string, operationName?: string): Prepared
}

export type MadeEngine = Engine & {
  /** Forgets all prepared operations and keeps no further ones. A subscription that outlives the engine must not keep all of them. */
  forget(): void
}

export type Subgraph = { name: string; transport: Transport }

const LIST_SIZE_ASSUMED = 5

/** Throws CONFIG_INVALID if the supergraph cannot be read or names a subgraph that is not given. */
export function makeEngine(supergraphSdl: string, subgraphs: readonly Subgraph[], options: EngineOptions): MadeEngine {
  const planner = makePlanner(supergraphSdl)
  const cacheHints = readCacheHints(supergraphSdl)
  const transports = new Map(subgraphs.map(({ name, transport }) => [name, transport]))
  for (const name of planner.subgraphs) {
    if (!transports.has(name))
      throw new TidemarkError('CONFIG_INVALID', `the supergraph has a subgraph "${name}": configure how to reach it, or compose without it`)
  }
  const shared = options.memory ?? makeClientMemory()
  let isForgotten = false
  /** A value that is made after `forget` is evicted at once. */
  const memory: ClientMemory = {
    ...shared,
    hold(kind, bytes, costMs, evicted) {
      if (!isForgotten) return shared.hold(kind, bytes, costMs, evicted)
      evicted()
      return NOTHING_HELD
    },
  }
  const prepared = new Map<string, { operation: PreparedOperation; holding: Holding; family: Family }>()
  const underWay = new Map<string, Promise<Prepared>>()
  const replays = makeReplays(memory)
  const preparing = makePreparing()
  let variants = 0

  const rules = readAccessRules(supergraphSdl)
  const costRules = readCostRules(supergraphSdl, options.listSizeAssumed ?? LIST_SIZE_ASSUMED)

  function* compileVariant(
    read: ReadOperation,
    variables: Values,
    family: Family,
    caller: { viewer: Viewer | undefined } | undefined,
  ): Work<Variant> {
    const decided = decideConditions(read, variables)
    const denied =
      caller === undefined || rules === undefined ? undefined : deniedTo(caller.viewer, findGuards(planner.schema, decided, rules))
    const allowed = denied === undefined ? decided : withoutDenied(decided, denied)
    const dataKeys = makeDataKeys(decided.operation, decided.fragments, planner.fieldsWithArguments)
    const { planned, introspection } = splitOperation(allowed.operation, allowed.fragments, dataKeys)
    yield
    const shape = makeShape({ schema: planner.schema, ...decided, dataKeys, denied })
    const project = compileProjection(shape)
    const isConstant = (read.operation.variableDefinitions ?? []).length === 0
    yield
    const planNode = planned === undefined ? undefined : planner.plan(planned)
    yield
    const plan = compilePlan(planNode, transports, planner.possible)
    return {
      key: `${(variants += 1)} `,
      plan,
      bytes: variantBytes(nodesOf(decided), plan.size),
      introspect: compileIntrospection(planner.schema, introspection, isConstant, family),
      project: denied === undefined ? project : (run) => (noteDenials(shape, run), project(run)),
    }
  }

  /** `eager` plans and compiles now, so that errors show now. Operations without guarded fields are compiled in any case. */
  function* compile(query: string, operationName: string | undefined, family: Family, eager: boolean): Work<Prepared> {
    const read = yield* readOperation(planner.schema, query, operationName, options)
    if ('errors' in read) return read
    yield
    try {
      const around = { schema: planner.schema, replays, preparing, family }
      const cost = compileCost(planner.schema, read.operation, read.fragments, costRules)
      const cache = cachePolicyOf(planner.schema, read, cacheHints)
      const compiled = compileOperation(around, read, (variables) => compileVariant(read, variables, family, undefined))
      const bytes = operationBytes(query, read.nodes)
      const whole = { ...compiled.prepared, bytes, cost, ...(cache === undefined ? {} : { cache }) }
      const guards = rules === undefined ? undefined : findGuards(planner.schema, read, rules)
      yield
      if (eager || guards === undefined || guards.size === 0) yield* compiled.compileMost()
      if (guards === undefined) return whole
      const formOf = (viewer: Viewer | undefined, own: Family) =>
        compileOperation({ ...around, family: own }, read, (variables) => compileVariant(read, variables, own, { viewer })).prepared
      return authorize(whole, read, guards, family, formOf)
    } catch (error) {
      return { errors: [compileError(error)] }
    }
  }

  function decorated(operation: PreparedOperation, query: string, operationName: string | undefined): PreparedOperation {
    return options.decorate?.(operation, query, operationName) ?? operation
  }

  function* compileKept(key: string, query: string, operationName: string | undefined, eager: boolean): Work<Prepared> {
    const family = makeFamily(memory)
    const made = yield* compile(query, operationName, family, eager)
    // Another call may have prepared the same operation between two steps.
    const known = find(key)
    if ('errors' in made || known !== undefined) {
      family.release()
      return known ?? made
    }
    const operation = decorated(made, query, operationName)
    const kept = { operation, family, holding: NOTHING_HELD }
    prepared.set(key, kept)
    const bytes = made.bytes ?? 0
    kept.holding = memory.hold('operation', bytes, compileCostMs(bytes), () => {
      if (prepared.get(key) === kept) prepared.delete(key)
      family.release()
    })
    return operation
  }

  function find(key: string): PreparedOperation | undefined {
    const known = prepared.get(key)
    known?.holding.touch()
    return known?.operation
  }

  function prepareFor(gate: Gate, query: string, operationName?: string): Prepared | Promise<Prepared> {
    const key = keyOf(query, operationName)
    const known = find(key) ?? underWay.get(key)
    if (known !== undefined) return known
    try {
      const made = preparing.run(query.length, gate, () => compileKept(key, query, operationName, false))
      if (!isPromise(made)) return made
      const settled = made.finally(() => underWay.delete(key))
      underWay.set(key, settled)
      return settled
    } catch (error) {
      if (error instanceof GraphQLError) return { errors: [error] }
      throw error
    }
  }

  return {
    schema: planner.schema,
    prepareFor,
    prepare(query, operationName) {
      const key = keyOf(query, operationName)
      return find(key) ?? runNow(compileKept(key, query, operationName, true))
    },
    pin(query, operationName) {
      const family = makePinnedFamily(memory)
      const made = runNow(compile(query, operationName, family, true))
      if ('errors' in made) return made
      const operation = decorated(made, query, operationName)
      memory.pin(operation, (made.bytes ?? 0) + family.seal())
      return operation
    },
    forget() {
      isForgotten = true
      for (const { holding, family } of prepared.values()) {
        holding.release()
        family.release()
      }
      prepared.clear()
      replays.clear()
    },
  }
}

function nodesOf({ operation, fragments }: Decided): number {
  return [operation, ...fragments.values()].reduce((nodes, node) => nodes + countNodes(node), 0)
}

export function keyOf(query: string, operationName: string | undefined): string {
  return operationName === undefined ? query : `${operationName.length}:${operationName}${query}`
}
