/**
 * Writes the variables of a call as JSON. JSON.parse accepts any depth, but JSON.stringify runs out of stack. Doors measure the depth of
 * large bodies only, so a client can send such a value to an argument of a custom scalar.
 */
import { Kind, print, type DocumentNode } from 'graphql'
import { TidemarkError } from '../../core/errors.ts'
import type { FetchVariables } from './transport.ts'

/** Throws BAD_REQUEST if a variable of the client is nested too deeply, and a RangeError if representations are. */
export function variablesJson(variables: FetchVariables, document: DocumentNode): string {
  try {
    return JSON.stringify(variables)
  } catch (thrown) {
    if (thrown instanceof RangeError) for (const name of clientVariables(document)) refuseDeep(name, variables[name])
    throw thrown
  }
}

/** Representations are data of subgraphs. Their type is `_Any`. */
function clientVariables({ definitions }: DocumentNode): string[] {
  return definitions
    .flatMap((definition) => (definition.kind === Kind.OPERATION_DEFINITION ? (definition.variableDefinitions ?? []) : []))
    .filter(({ type }) => !/\b_Any\b/.test(print(type)))
    .map(({ variable }) => variable.name.value)
}

function refuseDeep(name: string, value: unknown): void {
  try {
    JSON.stringify({ variables: { [name]: value } })
  } catch {
    throw new TidemarkError('BAD_REQUEST', `the variable "${name}" is nested too deeply: send flatter variables`)
  }
}
