/** The parameters of a GraphQL request. */

/** The parameters of a request, read and of the right types. */
export type OperationRequest = {
  /** Undefined or empty where the operation is called by an id. */
  readonly query: string | undefined
  readonly operationName: string | undefined
  readonly variables: Readonly<Record<string, unknown>> | undefined
  /** The id by which the request calls an operation, if not in the extensions. */
  readonly documentId?: string | undefined
  readonly extensions?: Readonly<Record<string, unknown>> | undefined
}
