/**
 * The lines of a viewer in an export. A line is of the viewer if it names them as viewer, author, owner, or as the other end of a
 * follow, or the user of a count. In the audience of a post of another author, only the id goes.
 */
import type { ViewerId } from '../../core/domain.ts'

export type Line = Record<string, unknown>

/** Kinds whose `id` is a user. */
const WITH_USER: ReadonlySet<unknown> = new Set(['follow', 'follower', 'user-count'])

/** The same line if it does not name the viewer, undefined if it is theirs. */
export function without(line: Line, viewer: ViewerId, kind: unknown): Line | undefined {
  if ([line['viewer'], line['author'], line['owner']].includes(viewer)) return undefined
  if (WITH_USER.has(kind) && line['id'] === viewer) return undefined
  const { audience } = line
  if (!Array.isArray(audience) || !audience.includes(viewer)) return line
  return { ...line, audience: audience.filter((each) => each !== viewer) }
}
