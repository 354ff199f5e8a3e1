/** A valid operation to its plan, for one combination of the variables of its conditions. */
import type { PlanNode } from '@graphql-hive/router-query-planner'
import type { DocumentNode } from 'graphql'
import { decideConditions, type Decided, type Values } from './conditions.ts'
import type { ReadOperation } from './operations.ts'
import { makeDataKeys, splitOperation, type DataKeys } from './plan-document.ts'
import type { Planner } from './planner.ts'

export type PlannedOperation = {
  /** Undefined if nothing has to be fetched. */
  readonly plan: PlanNode | undefined
  readonly introspection: DocumentNode | undefined
  readonly decided: Decided
  readonly dataKeys: DataKeys
}

/** Throws a GraphQLError if there is no plan. */
export function planOperation(planner: Planner, read: ReadOperation, variables: Values): PlannedOperation {
  const decided = decideConditions(read, variables)
  const dataKeys = makeDataKeys(decided.operation, decided.fragments, planner.fieldsWithArguments)
  const { planned, introspection } = splitOperation(decided.operation, decided.fragments, dataKeys)
  return { plan: planned === undefined ? undefined : planner.plan(planned), introspection, decided, dataKeys }
}
