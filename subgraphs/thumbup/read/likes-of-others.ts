/** A page of another viewer's likes, without the restricted subjects that the reader may not see. Reads on until the page is full. */
import type { MarkEntry, MarkPlace } from '../../../core/domain.ts'
import type { MarkPage } from './likes.ts'

/** `read`: a page of all likes. If it is null once, no store answers. */
export async function readLikesOfOthers(
  read: (before: MarkPlace | undefined, first: number) => Promise<MarkPage | null>,
  isShown: (entry: MarkEntry) => Promise<boolean | null>,
  before: MarkPlace | undefined,
  first: number,
): Promise<MarkPage | null> {
  const shown: MarkEntry[] = []
  for (let place = before; ;) {
    const page = await read(place, first)
    if (page === null) return shown.length === 0 ? null : { entries: shown, hasNextPage: true }
    const may = await Promise.all(page.entries.map(isShown))
    shown.push(...page.entries.filter((_, at) => may[at] === true))
    if (shown.length >= first || !page.hasNextPage)
      return { entries: shown.slice(0, first), hasNextPage: page.hasNextPage || shown.length > first }
    place = page.entries.at(-1)
  }
}
