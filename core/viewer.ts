/** Who asks. A leaf: the gateway finds it out, the subgraphs rely on it. */
import type { ViewerId } from './domain.ts'
import { TidemarkError } from './errors.ts'

export type Viewer = {
  id: ViewerId
  /** What else the token allows, beyond the viewer's own data. */
  scopes: readonly string[]
  /** When what says so stops counting, in milliseconds since the epoch; absent: never. */
  expiresAt?: number
  /** The service that acts for the viewer, where one does. */
  actor?: string
}

/** Allows a service to act for any viewer. */
export const SCOPE_VIEWER_ANY = 'viewer:any'

/** Allows reports in the name of other viewers. */
export const SCOPE_WRITE_ANY = 'progress:write-any'

/** Throws UNAUTHENTICATED where nobody asks. */
export function requireViewer(viewer: Viewer | undefined): Viewer {
  if (viewer !== undefined) return viewer
  throw new TidemarkError('UNAUTHENTICATED', VIEWER_NEEDED)
}

export const VIEWER_NEEDED = 'this needs a viewer: send "Authorization: Bearer <token>", or in development the header x-viewer-id'
