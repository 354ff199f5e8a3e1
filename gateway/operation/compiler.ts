/**
 * The compiler turns the text of an operation into a prepared operation. It reads the text, asks the judge, computes the cost, plans
 * the fetches and compiles the projection. It keeps nothing: engine.ts keeps the results.
 */
import type { GraphQLSchema } from 'graphql'
import { TidemarkError } from '../../core/errors.ts'
import type { Viewer } from '../../core/viewer.ts'
import { authorize } from '../authorization/authorize.ts'
import { noteDenials } from '../authorization/denials.ts'
import { deniedTo, findGuards, withoutDenied } from '../authorization/guards.ts'
import { readAccessRules } from '../authorization/access-rules.ts'
import { cachePolicyOf, readCacheHints } from '../cache/cache-policy.ts'
import { compilePlan } from '../execution/executor.ts'
import { compileProjection } from '../execution/projection.ts'
import { makeShape } from '../execution/shape.ts'
import { readCostRules } from '../limits/cost-rules.ts'
import { compileCost } from '../limits/operation-cost.ts'
import { countNodes, operationBytes, variantBytes } from '../memory/estimates.ts'
import type { Family } from '../memory/family.ts'
import type { Transport } from '../transports/transport.ts'
import { decideConditions } from './conditions.ts'
import type { DecidedOperation, VariableValues } from './conditions.ts'
import type { ReadOperation, ReadOptions } from './operations.ts'
import { compileError, readOperation } from './operations.ts'
import { makeDataKeys, splitOperation } from './plan-document.ts'
import { refuseManyPlaces } from './interface-places.ts'
import { makePlanner, type Planner } from './planner.ts'
import { compileIntrospection, compileOperation } from './prepared-operation.ts'
import type { Prepared, Variant } from './prepared-operation.ts'
import type { Preparing, Work } from './preparing.ts'

export type CompilerOptions = ReadOptions & {
  /** The assumed length of a list without a declared size; see cost-rules.ts. Default 5. */
  readonly listSizeAssumed?: number
}

export type Subgraph = { name: string; transport: Transport }

export type Compiler = {
  /** The API schema that clients see. */
  readonly schema: GraphQLSchema
  /** `eager` plans and compiles now, so that errors show now. Operations without guarded fields are compiled in any case. */
  compile(query: string, operationName: string | undefined, family: Family, eager: boolean): Work<Prepared>
}

const LIST_SIZE_ASSUMED = 5

/** Throws CONFIG_INVALID if the supergraph cannot be read, or if `subgraphs` lacks one of its subgraphs. */
export function makeCompiler(
  supergraphSdl: string,
  subgraphs: readonly Subgraph[],
  preparing: Preparing,
  options: CompilerOptions,
): Compiler {
  const planner = makePlanner(supergraphSdl)
  const cacheHints = readCacheHints(supergraphSdl)
  const transports = transportsOf(planner, subgraphs)
  const rules = readAccessRules(supergraphSdl)
  const costRules = readCostRules(supergraphSdl, options.listSizeAssumed ?? LIST_SIZE_ASSUMED)

  function* compileVariant(
    read: ReadOperation,
    variables: VariableValues,
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
    const projection = compileProjection(shape, denied === undefined ? undefined : (run) => noteDenials(shape, run))
    const isConstant = (read.operation.variableDefinitions ?? []).length === 0
    yield
    const planNode = planned === undefined ? undefined : planner.plan(planned)
    yield
    const plan = compilePlan(planNode, transports, planner.possible)
    return {
      plan,
      bytes: variantBytes(nodesOf(decided), plan.size),
      introspect: compileIntrospection(planner.schema, introspection, isConstant, family),
      projection,
    }
  }

  function* compile(query: string, operationName: string | undefined, family: Family, eager: boolean): Work<Prepared> {
    const read = yield* readOperation(planner.schema, query, operationName, options)
    if ('errors' in read) return read
    const refused = refuseManyPlaces(planner.schema, read)
    if (refused !== undefined) return { errors: [refused] }
    yield
    try {
      const around = { schema: planner.schema, preparing, family }
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

  return { schema: planner.schema, compile }
}

function transportsOf(planner: Planner, subgraphs: readonly Subgraph[]): Map<string, Transport> {
  const transports = new Map(subgraphs.map(({ name, transport }) => [name, transport]))
  for (const name of planner.subgraphs) {
    if (!transports.has(name))
      throw new TidemarkError(
        'CONFIG_INVALID',
        `the subgraph "${name}" of the supergraph has no address: configure one, or compose without it`,
      )
  }
  return transports
}

function nodesOf({ operation, fragments }: DecidedOperation): number {
  return [operation, ...fragments.values()].reduce((nodes, node) => nodes + countNodes(node), 0)
}
