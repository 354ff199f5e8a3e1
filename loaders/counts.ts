/**
 * Counts of subjects, read down the ladder of `ladder.ts`. Zeros are cached too. While the count cache is down, every
 * subject counts as hot, so frequent reads do not reach the record store each time. A read that the limits refuse gets
 * the last known value.
 */
import type { Clock } from '../core/clock.ts'
import type { Subject, SubjectCounts, CountedSubject } from '../core/domain.ts'
import { makeHotKeys, type HotKey } from './lookup/hot-keys.ts'
import type { Random } from '../core/random.ts'
import type { CountCache } from '../subgraphs/thumbup/stores/count-cache.ts'
import type { MarkRecords } from '../subgraphs/thumbup/stores/record-store.ts'
import { makeLadder, type Ladder, type LadderFigures } from './lookup/ladder.ts'

export type CountReadsOptions = {
  /** Milliseconds for which a hot subject is served by this process alone; 0: never. */
  hotTtlMs: number
  /** Bytes the process's own cache may take. */
  hotBytesMax: number
  /** True if the count cache is known to be down. */
  isCacheDown(): boolean
}

export type CountReads = Pick<Ladder<Subject, SubjectCounts>, 'getMany' | 'getFresh' | 'reload'> & {
  /** True if the answer of `getMany` may be as old as `hotTtlMs`. */
  mayBeOld(subject: Subject): boolean
  /**
   * Reports new counts, written by this process or learnt from another. They replace the cached ones and become the last
   * known ones.
   */
  learn(counted: readonly CountedSubject[]): void
  figures(): CountReadsFigures
}

export type CountReadsFigures = LadderFigures & { hot: HotKey[] }

export function makeCountReads(
  clock: Clock,
  random: Random,
  cache: CountCache,
  records: Pick<MarkRecords, 'getCountsMany'>,
  options: CountReadsOptions,
): CountReads {
  const hotKeys = makeHotKeys(clock, random)
  const ladder = makeLadder<Subject, SubjectCounts>(
    clock,
    {
      getCached: (subjects) => cache.getCountsMany(subjects),
      getStored: (subjects) => records.getCountsMany(subjects),
      putCached: (subjects, counts) =>
        cache.putCounts(subjects.map((subject, index) => ({ ...subject, counts: counts[index] as SubjectCounts }))),
    },
    {
      get hotTtlMs() {
        return options.hotTtlMs
      },
      get bytesMax() {
        return options.hotBytesMax
      },
      isHot: (text) => hotKeys.add(text) || options.isCacheDown(),
      textOf: subjectText,
      isSame: (kept, read) => kept.likes === read.likes && kept.dislikes === read.dislikes,
    },
  )
  return {
    getMany: ladder.getMany,
    getFresh: ladder.getFresh,
    reload: ladder.reload,
    mayBeOld: (subject) => options.hotTtlMs > 0 && hotKeys.isHot(subjectText(subject)),
    learn(counted) {
      for (const { business, oid, counts } of counted) ladder.learn({ business, oid }, counts)
    },
    figures: () => ({ ...ladder.figures(), hot: hotKeys.list() }),
  }
}

export function subjectText({ business, oid }: Subject): string {
  return `${business}:${oid}`
}
