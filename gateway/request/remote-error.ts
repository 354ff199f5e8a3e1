/**
 * Errors of remote subgraphs. Such errors may contain statements, hosts and passwords of the partner. They are marked when they arrive, and
 * error-format.ts decides by their code whether clients see them.
 */
import { randomUUID } from 'node:crypto'

/** An answer or event with errors, as it arrived. All of its errors share this object, and it is logged once. */
export type RemoteErrors = {
  readonly subgraph: string
  readonly errors: readonly unknown[]
  /** The id of its log entry. Undefined until one of its errors is hidden from a client. */
  logId: string | undefined
}

/** One error of such an answer. */
export class RemoteError extends Error {
  readonly from: RemoteErrors
  constructor(message: string, from: RemoteErrors) {
    super(message)
    this.name = 'RemoteError'
    this.from = from
  }
}

/** Errors of one answer that are logged. */
const LOGGED_MAX = 100

/** The id of the log entry. `write` is called only for the first hidden error of an answer. */
export function logIdOf({ from }: RemoteError, write: (fields: Record<string, unknown>) => void): string {
  if (from.logId === undefined) {
    from.logId = randomUUID()
    const { subgraph, errors, logId: id } = from
    write({ id, subgraph, errors: errors.slice(0, LOGGED_MAX), count: errors.length })
  }
  return from.logId
}
