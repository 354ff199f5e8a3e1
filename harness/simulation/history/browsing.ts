/** Pages that a device reads one after the other, while other things happen. */
import type { Place } from '../../../core/domain.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import { randomBelow, type Random } from '../../../core/random.ts'
import { decodeCursor, encodeCursor } from '../../../subgraphs/history/model/places.ts'
import { placeOf } from '../../../subgraphs/history/read/timeline.ts'
import { makeDice } from '../dice.ts'
import type { Checker } from './checker.ts'
import { without, type Browsing, type Client } from './client.ts'
import type { Process } from './process.ts'

export type Browse = ReturnType<typeof makeBrowse>

/** The next page, from the start if the device has come to the end. */
export function makeBrowse(random: Random, checker: Checker) {
  const { pick } = makeDice(random)

  function begin(): Browsing {
    const numbers = random() < 0.6 ? [1, 2] : [pick([1, 2])]
    return { businesses: numbers, first: 1 + randomBelow(random, 3), cursor: undefined, since: checker.tick(), seen: new Map() }
  }

  /** A key that did not change meanwhile was listed exactly once. */
  function endBrowsing(client: Client, browsing: Browsing): void {
    client.browsing = undefined
    for (const { key } of checker.entriesOf(client.viewer.id)) {
      if (!browsing.businesses.includes(key.business) || checker.hasChangedSince(key, browsing.since)) continue
      const times = browsing.seen.get(`${key.business}:${key.oid}`) ?? 0
      if (times !== 1)
        checker.fail(`line 1: browsing listed ${key.business}:${key.oid} ${times} times, although it did not change`, client.viewer.id)
    }
  }

  return async (client: Client, process: Process, isQuiet = false): Promise<string> => {
    const browsing = (client.browsing ??= begin())
    const before: Place | undefined = browsing.cursor === undefined ? undefined : decodeCursor(browsing.cursor, browsing.businesses)
    const since = checker.tick()
    const degraded: Degraded = new Set()
    const page = await process.readTimeline(client.viewer.id, browsing.businesses, before, browsing.first, degraded)
    if (degraded.size > 0) {
      // The answer is degraded and says so.
      if (isQuiet) checker.fail(`line 6: after quiet a page is still answered${without(degraded)}`, client.viewer.id)
      client.browsing = undefined
      return `what there is${without(degraded)}`
    }
    checker.checkPage(client.viewer.id, browsing.businesses, before, browsing.first, page, since)
    for (const { business, oid } of page.entries)
      browsing.seen.set(`${business}:${oid}`, (browsing.seen.get(`${business}:${oid}`) ?? 0) + 1)
    const last = page.entries.at(-1)
    if (last !== undefined) browsing.cursor = encodeCursor(placeOf(last))
    if (!page.hasNextPage) endBrowsing(client, browsing)
    return page.entries.map((entry) => `${entry.business}:${entry.oid}`).join(' ') + (page.hasNextPage ? ' …' : ' (end)')
  }
}
