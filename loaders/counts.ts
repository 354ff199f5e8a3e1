/**
 * Counts of subjects, down the ladder of `ladder.ts`. Zeros are cached as well.
 *
 * While the count cache is down everything counts as hot, so that what is asked for often does not reach the record store
 * each time; what its limits refuse is answered with the last known value.
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
  /** Is the count cache known to be down? */
  isCacheDown(): boolean
}

export type CountReads = Pick<Ladder<Subject, SubjectCounts>, 'getMany' | 'getFresh' | 'reload'> & {
  /** Might `getMany` answer with what is as old as `hotTtlMs`? */
  mayBeOld(subject: Subject): boolean
  /** This process changed these counts, or heard of it: what it keeps is old. They are the last known ones from now on. */
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
      hotTtlMs: options.hotTtlMs,
      bytesMax: options.hotBytesMax,
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
