/** The parameters of a GraphQL request, read and of the right types. */
export type OperationRequest = {
  /** Undefined or empty if the operation is called by an id. */
  readonly query: string | undefined
  readonly operationName: string | undefined
  readonly variables: Readonly<Record<string, unknown>> | undefined
  /** The id of the operation, if it is not in the extensions. */
  readonly documentId?: string | undefined
  readonly extensions?: Readonly<Record<string, unknown>> | undefined
  /** The cost of the operation with these variables, once it is checked; see preparation.ts. */
  cost?: number | undefined
}
