/** Who asks. A leaf: the gateway finds it out, the subgraphs rely on it. */
import type { ViewerId } from './domain.ts'
import { TidemarkError } from './errors.ts'

export type Viewer = {
  id: ViewerId
  /** What else the token allows, beyond the viewer's own data. */
  scopes: readonly string[]
}

/** Allows reports in the name of other viewers. */
export const SCOPE_WRITE_ANY = 'progress:write-any'

/** Throws UNAUTHENTICATED where nobody asks. */
export function requireViewer(viewer: Viewer | undefined): Viewer {
  if (viewer !== undefined) return viewer
  throw new TidemarkError(
    'UNAUTHENTICATED',
    'this needs a viewer: send "Authorization: Bearer <token>", or in development the header x-viewer-id',
  )
}
