/**
 * Errors that came over a network. Whoever runs that subgraph words them for himself: statements, hosts and passwords have
 * been seen in them. So they are marked where they come in, and error-format.ts decides by their code what clients learn.
 */
import { randomUUID } from 'node:crypto'

/** An answer or event with errors, as it came; all its errors share it, and the log has it once. */
export type RemoteErrors = {
  readonly subgraph: string
  readonly errors: readonly unknown[]
  /** Under which the log has it; undefined until something of it had to be withheld. */
  logId: string | undefined
}

/** One of them, on its way to the client. */
export class RemoteError extends Error {
  readonly from: RemoteErrors
  constructor(message: string, from: RemoteErrors) {
    super(message)
    this.name = 'RemoteError'
    this.from = from
  }
}

/** Errors of one answer that the log gets. */
const LOGGED_MAX = 100

/** The id in the log; `write` is called for the first error of an answer only. */
export function logIdOf({ from }: RemoteError, write: (fields: Record<string, unknown>) => void): string {
  if (from.logId === undefined) {
    from.logId = randomUUID()
    const { subgraph, errors, logId: id } = from
    write({ id, subgraph, errors: errors.slice(0, LOGGED_MAX), count: errors.length })
  }
  return from.logId
}
