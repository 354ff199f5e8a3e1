/** The caller of a request. The gateway authenticates it, and the subgraphs rely on it. */
import type { ViewerId } from './domain.ts'
import { TidemarkError } from './errors.ts'

export type Viewer = {
  id: ViewerId
  /** The scopes of the token, beyond the viewer's own data. */
  scopes: readonly string[]
  /** Expiry of the identity, in milliseconds since the epoch; absent: never. */
  expiresAt?: number
  /** The service that acts for the viewer, if there is one. */
  actor?: string
}

/** Allows a service to act for any viewer. */
export const SCOPE_VIEWER_ANY = 'viewer:any'

/** Allows reports in the name of other viewers. */
export const SCOPE_WRITE_ANY = 'progress:write-any'

/** Allows marks in the name of other viewers. */
export const SCOPE_MARKS_WRITE_ANY = 'marks:write-any'

/** Allows reading the likes of other viewers. */
export const SCOPE_MARKS_READ_ANY = 'marks:read-any'

/** Allows registering the owners of subjects. */
export const SCOPE_SUBJECTS_REGISTER = 'subjects:register'

/** Allows as many candidates per call as a recommender has. */
export const SCOPE_EXISTENCE_BULK = 'existence:bulk'

/** Allows changes of the counters of posts. */
export const SCOPE_COUNTS_WRITE = 'counts:write'

/** Allows reading the reward events of all viewers. */
export const SCOPE_REWARDS_READ = 'rewards:read'

/** Allows operator-only fields. */
export const SCOPE_OPERATOR = 'operator'

const OF_SERVICES: ReadonlySet<string> = new Set([
  ...[SCOPE_VIEWER_ANY, SCOPE_WRITE_ANY, SCOPE_MARKS_WRITE_ANY, SCOPE_MARKS_READ_ANY],
  ...[SCOPE_SUBJECTS_REGISTER, SCOPE_EXISTENCE_BULK, SCOPE_COUNTS_WRITE, SCOPE_REWARDS_READ, SCOPE_OPERATOR],
])

/** True for the token of a service of the site: only services get any of these scopes. */
export function isService({ scopes, actor }: Viewer): boolean {
  return actor !== undefined || scopes.some((scope) => OF_SERVICES.has(scope))
}

/** Throws FORBIDDEN without the scope, UNAUTHENTICATED for an anonymous caller. */
export function requireScope(viewer: Viewer | undefined, scope: string): Viewer {
  const known = requireViewer(viewer)
  if (known.scopes.includes(scope)) return known
  throw new TidemarkError('FORBIDDEN', `the token lacks the scope ${scope}: use one that has it`)
}

/** Throws UNAUTHENTICATED for an anonymous caller. */
export function requireViewer(viewer: Viewer | undefined): Viewer {
  if (viewer !== undefined) return viewer
  throw new TidemarkError('UNAUTHENTICATED', VIEWER_NEEDED)
}

export const VIEWER_NEEDED =
  'this needs a viewer: send "Authorization: Bearer <token>", or in development the header x-viewer-id; ' +
  'over WebSocket, send the connection parameter authorization or viewerId'
