/**
 * One GraphQL call to a role that may be killed at any moment, and its outcome. A call without an answer is excused if its process was
 * killed: a real client would call another process.
 */
import type { Role } from '../deployment/role.ts'

export type CallEnd<Data = unknown> =
  | { kind: 'answered'; data: Data; degraded: ReadonlySet<string> }
  /** An answer with errors. `code` is the code of the first one, or the HTTP status. */
  | { kind: 'error'; code: string; sentence: string }
  /** No answer. `excused`: its process was killed. */
  | { kind: 'lost'; excused: boolean; reason: string }

export type Call<Data = unknown> = {
  role: Role
  operation: string
  viewer: string
  /** The start of the call, by performance.now(). */
  begun: number
  ms: number
  end: CallEnd<Data>
}

/** Longer than any answer takes. A write waits 2 s for a failing hot store, a read 3 s for a record store. */
const PATIENCE_MS = 15_000

/** `scopes`: claimed by the viewer, which development mode accepts. */
export async function call<Data>(
  role: Role,
  operation: string,
  viewer: string,
  query: string,
  variables: object,
  scopes?: string,
): Promise<Call<Data>> {
  const begun = performance.now()
  const kills = role.kills()
  const wasRunning = role.isRunning()
  const done = (end: CallEnd<Data>): Call<Data> => ({ role, operation, viewer, begun, ms: performance.now() - begun, end })
  try {
    const response = await fetch(role.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-viewer-id': viewer, ...(scopes !== undefined && { 'x-viewer-scopes': scopes }) },
      body: JSON.stringify({ query, variables }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    })
    return done(endOf(response.status, await response.text()))
  } catch (error) {
    const excused = !wasRunning || role.kills() !== kills || !role.isRunning()
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    return done({ kind: 'lost', excused, reason: cause instanceof Error ? cause.message || cause.name : String(cause) })
  }
}

function endOf<Data>(status: number, text: string): CallEnd<Data> {
  const answer = JSON.parse(text) as {
    data?: Data | null
    errors?: { message: string; extensions?: { code?: string } }[]
    extensions?: { degraded?: string[] }
  }
  const error = answer.errors?.[0]
  if (error !== undefined) return { kind: 'error', code: error.extensions?.code ?? String(status), sentence: error.message }
  if (answer.data === null || answer.data === undefined) return { kind: 'error', code: String(status), sentence: text.slice(0, 300) }
  return { kind: 'answered', data: answer.data, degraded: new Set(answer.extensions?.degraded ?? []) }
}
