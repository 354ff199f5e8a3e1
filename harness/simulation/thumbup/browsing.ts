/** Pages of likes that a device reads one after the other, while other things happen. */
import type { Degraded } from '../../../core/outage/degraded.ts'
import { randomBelow, type Random } from '../../../core/random.ts'
import type { MarkChecker } from './checker.ts'
import { without, type Browsing, type Client } from './client.ts'
import type { Owed } from './owed.ts'
import type { MarkProcess } from './process.ts'
import { nameOf } from './truth.ts'

export type Browse = ReturnType<typeof makeBrowse>

/** The next page, from the start if the device has come to the end. */
export function makeBrowse(random: Random, checker: MarkChecker, { owedBy, failIfOwed }: Owed) {
  const { truths } = checker

  function begin(): Browsing {
    const business = random() < 0.7 ? 1 : 2
    return { business, first: 1 + randomBelow(random, 3), before: undefined, since: truths.tick(), seen: new Map() }
  }

  /** A mark that did not change meanwhile was listed exactly once. */
  function endBrowsing(client: Client, browsing: Browsing): void {
    client.browsing = undefined
    const viewer = client.viewer.id
    for (const truth of checker.likesOf(viewer, browsing.business)) {
      if (checker.hasChangedSince(truth, browsing.since)) continue
      const times = browsing.seen.get(truth.key.oid) ?? 0
      if (times !== 1) checker.fail(`seam: browsing listed ${nameOf(truth.key)} ${times} times, although it did not change`, viewer)
    }
  }

  return async (client: Client, process: MarkProcess, isQuiet = false): Promise<string> => {
    const browsing = (client.browsing ??= begin())
    const { business, first, before } = browsing
    const viewer = client.viewer.id
    const since = truths.tick()
    const owed = owedBy(process).filter(({ key }) => key.viewer === viewer && key.business === business)
    const degraded: Degraded = new Set()
    const page = await process.likes(viewer, business, before, first, degraded)
    if (degraded.size > 0 || page === null) {
      client.browsing = undefined
      if (isQuiet) checker.fail(`after quiet a page is still read${without(degraded)}`, viewer)
      return `what there is${without(degraded)}`
    }
    failIfOwed(owed, `viewer ${viewer}'s page of likes in ${business}`)
    checker.checkLikes(viewer, business, before, first, page, since)
    // The device gave this call up and has the page from another call.
    if (client.browsing !== browsing || browsing.before !== before) return 'too late'
    for (const { id } of page.entries) browsing.seen.set(id, (browsing.seen.get(id) ?? 0) + 1)
    const last = page.entries.at(-1)
    if (last !== undefined) browsing.before = last
    if (!page.hasNextPage) endBrowsing(client, browsing)
    return page.entries.map(({ id }) => `${business}:${id}`).join(' ') + (page.hasNextPage ? ' …' : ' (end)')
  }
}
