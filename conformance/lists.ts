/** Lists that the API gives in pages. */
import { CheckFailed, expectEqual } from './outcome.ts'
import type { PageInfo } from './operations.ts'

/** One page of a list. `id`: the id of the viewer, the subject or the post. */
export type ListPage<Entry = { id: string; cursor: string }> = { entries: Entry[]; pageInfo: PageInfo }
export type PageVariables = { first?: number; after?: string | null }

/** A list with more pages than this fails the check. */
const PAGES_MAX = 100

/**
 * All ids of a list, page by page. Each page but the last must be full. `between` runs after each page but the last, with the last id of the
 * page.
 */
export async function walkList(
  read: (variables: PageVariables) => Promise<ListPage>,
  first: number,
  between: (page: number, lastId: string) => Promise<void> = () => Promise.resolve(),
): Promise<string[]> {
  const ids: string[] = []
  let after: string | null = null
  for (let page = 1; page <= PAGES_MAX; page++) {
    const { entries, pageInfo } = await read({ first, after })
    ids.push(...entries.map(({ id }) => id))
    expectEqual(`hasPreviousPage of page ${page}`, pageInfo.hasPreviousPage, page > 1)
    expectEqual(`the endCursor of page ${page}`, pageInfo.endCursor, entries.at(-1)?.cursor ?? null)
    if (!pageInfo.hasNextPage) return ids
    expectEqual(`the number of entries on page ${page}, which is not the last`, entries.length, first)
    await between(page, ids.at(-1) as string)
    after = pageInfo.endCursor
  }
  throw new CheckFailed(`a list that ends within ${PAGES_MAX} pages of ${first}`, 'hasNextPage: true still')
}
