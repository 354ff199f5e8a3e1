/**
 * Counts reads of posts from the reports of history. A read is the first play of a post by a viewer on a day (UTC). One read in `oneIn` is
 * counted, with the weight `oneIn`.
 *
 * A hash of viewer, post and day chooses the reads and is the id of their events. A repeated report therefore makes the same event, in any
 * process, and counters count an event once within an hour. After that hour, the previous record of the report shows that it is not the
 * first play of its day.
 *
 * No report waits for a count. A read that cannot be counted is lost.
 */
import { hash } from 'node:crypto'
import type { HistoryBusiness } from '../../../config/businesses.ts'
import { utcDayOf } from '../../../core/days.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import type { WrittenReport } from '../../../core/written-reports.ts'
import { isPlayed } from '../../played.ts'
import type { CountEvent } from '../model/counts.ts'
import { maySee, type Post } from '../model/post.ts'
import { isPostId, type PostId } from '../packed/post-id.ts'
import type { CountResult } from './service.ts'

export type ReadSampleParts = {
  /** As in `CountParts`. */
  posts(ids: readonly PostId[], degraded: Degraded): Promise<(Post | undefined)[]>
  count(events: readonly CountEvent[]): Promise<CountResult[]>
}

export type ReadSampleOptions = {
  /** The business of the posts, at this moment. */
  business(): HistoryBusiness
  regions: number
  /** 0: nothing is counted. */
  oneIn: number
}

export type ReadSampleFigures = {
  /** Sampled reads that were counted, and reads that were lost: no store answered, or too many waited. */
  counted: number
  lost: number
}

export type ReadSamples = {
  /** Returns at once, and never throws. */
  take(written: readonly WrittenReport[]): void
  /** Resolves when no read waits. */
  settled(): Promise<void>
  figures(): ReadSampleFigures
}

type Read = { viewer: string; event: CountEvent }

const WAITING_MAX = 10_000
const AT_ONCE = 500

export function makeReadSamples(
  { posts, count }: ReadSampleParts,
  { business, regions, oneIn }: ReadSampleOptions,
  onError: (error: unknown) => void,
): ReadSamples {
  const figures: ReadSampleFigures = { counted: 0, lost: 0 }
  let waiting: Read[] = []
  let working: Promise<void> | undefined

  function isFirst({ record, before }: WrittenReport): boolean {
    if (!isPlayed(record, business())) return false
    return before === undefined || utcDayOf(before.viewedAt) !== utcDayOf(record.viewedAt) || !isPlayed(before, business())
  }

  function readOf(report: WrittenReport): Read | undefined {
    const { viewer, oid } = report.key
    if (report.key.business !== business().number || !isPostId(oid, regions) || !isFirst(report)) return undefined
    const digest = hash('sha1', `${utcDayOf(report.record.viewedAt)}:${oid}:${viewer}`, 'buffer')
    if (digest.readUInt32BE(0) % oneIn !== 0) return undefined
    const id = `history:${digest.toString('base64url')}`
    return { viewer, event: { id, subject: { business: business().number, oid }, counter: 'read', delta: oneIn } }
  }

  async function countSome(reads: readonly Read[]): Promise<void> {
    const without: Degraded = new Set()
    const found = await posts(
      reads.map(({ event }) => event.subject.oid),
      without,
    )
    const seen = reads.filter(({ viewer }, at) => found[at] !== undefined && maySee(found[at], viewer))
    const results = seen.length === 0 ? [] : await count(seen.map(({ event }) => event))
    figures.counted += results.filter((result) => result === 'counted').length
    const failed = results.filter((result) => typeof result !== 'string').length
    figures.lost += failed + (without.size > 0 ? found.filter((post) => post === undefined).length : 0)
  }

  async function work(): Promise<void> {
    while (waiting.length > 0) {
      const some = waiting.slice(0, AT_ONCE)
      waiting = waiting.slice(AT_ONCE)
      try {
        await countSome(some)
      } catch (error) {
        figures.lost += some.length
        onError(error)
      }
    }
    working = undefined
  }

  return {
    take(written) {
      if (oneIn === 0) return
      for (const report of written) {
        const read = readOf(report)
        if (read === undefined) continue
        if (waiting.length < WAITING_MAX) waiting.push(read)
        else figures.lost++
      }
      if (waiting.length > 0) working ??= work()
    },
    async settled() {
      await working
    },
    figures: () => ({ ...figures }),
  }
}
