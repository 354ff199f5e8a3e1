/** The reads of devices except pages of likes: marks of subjects, counts, likers, and likes received. */
import type { MarkKey, MarkPlace } from '../../../core/domain.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import { keyText } from '../../../core/progress-key.ts'
import { randomBelow, type Random } from '../../../core/random.ts'
import type { MarkChecker } from './checker.ts'
import { without, type Client, type MarkClientOptions, type MarkInputs } from './client.ts'
import type { Owed } from './owed.ts'
import type { MarkProcess } from './process.ts'
import { nameOf } from './truth.ts'

export function makeReads(
  random: Random,
  checker: MarkChecker,
  { owners }: MarkClientOptions,
  { subject, subjects }: MarkInputs,
  { owedBy, failIfOwed }: Owed,
) {
  const { truths } = checker

  async function lookUp(client: Client, process: MarkProcess): Promise<string> {
    const keys = subjects(4).map(({ business, oid }) => ({ viewer: client.viewer.id, business, oid }))
    return lookUpKeys(keys, process, 'a lookup')
  }

  async function lookUpKeys(keys: readonly MarkKey[], process: MarkProcess, what: string, isQuiet = false): Promise<string> {
    const since = truths.tick()
    const owed = owedBy(process).filter(({ key }) => keys.some((each) => keyText(each) === keyText(key)))
    const degraded: Degraded = new Set()
    const found = await process.getMarks(keys, degraded)
    if (degraded.size > 0) {
      if (isQuiet) checker.fail(`after quiet a lookup is still answered${without(degraded)}`, undefined)
      return `what there is${without(degraded)}`
    }
    failIfOwed(owed, what)
    keys.forEach((key, index) => checker.checkShown(key, found[index]?.mark ?? 'null', since, what))
    return keys.map((key, index) => `${key.business}:${key.oid} ${found[index]?.mark}`).join(', ')
  }

  async function count(_: Client, process: MarkProcess): Promise<string> {
    const asked = subjects(4).map(({ business, oid }) => ({ business, oid }))
    const degraded: Degraded = new Set()
    const found = await process.getCounts(asked, degraded)
    asked.forEach((each, index) => {
      const counts = found[index] ?? undefined
      if (counts === undefined && degraded.size === 0) checker.fail(`${nameOf(each)} has no counts, but no store is down`, undefined)
      if (counts !== undefined && (counts.likes < 0 || counts.dislikes < 0))
        checker.fail(`${nameOf(each)} is shown with ${JSON.stringify(counts)}`, undefined)
    })
    return asked.map((each, index) => `${nameOf(each)} ${found[index]?.likes},${found[index]?.dislikes}`).join(', ') + without(degraded)
  }

  async function readLikers(client: Client, process: MarkProcess): Promise<string> {
    const { business, oid } = subject()
    const asked = { business, oid }
    const viewer = random() < 0.5 ? client.viewer.id : undefined
    const first = 1 + randomBelow(random, 3)
    let before: MarkPlace | undefined
    let told = ''
    for (let pages = 0; pages < 2; pages++) {
      const degraded: Degraded = new Set()
      const since = truths.tick()
      const page = await process.likers({ subject: asked, viewer, before, first }, degraded)
      if (page === null && degraded.size === 0) checker.fail(`the likers of ${nameOf(asked)} are null, but no store is down`, undefined)
      if (page === null) return `nothing${without(degraded)}`
      checker.checkLikers(asked, before, first, page)
      if (viewer !== undefined && degraded.size === 0) checker.checkOwnPlace({ viewer, ...asked }, before, page, since)
      told += page.entries.map(({ id }) => ` ${id}`).join('') + without(degraded)
      before = page.entries.at(-1)
      if (!page.hasNextPage || before === undefined) break
    }
    return `${nameOf(asked)}:${told}`
  }

  async function readOwners(_: Client, process: MarkProcess): Promise<string> {
    const asked = owners.map((owner) => ({ business: subject().business, owner }))
    const degraded: Degraded = new Set()
    const likes = await process.getOwnerLikes(asked, degraded)
    if (likes.some((each) => (each === null && degraded.size === 0) || (each ?? 0) < 0))
      checker.fail(`likes received are shown as ${JSON.stringify(likes)}`, undefined)
    return likes.join(', ') + without(degraded)
  }

  return { lookUp, lookUpKeys, count, readLikers, readOwners }
}
