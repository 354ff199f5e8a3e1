/** Follows the counts of some subjects, like one subscriber of a process: it gets no other subjects and no older versions. */
import type { Subject, CountedSubject } from '../../core/domain.ts'
import type { CountCache } from '../../subgraphs/thumbup/stores/count-cache.ts'

export async function followCounts(
  cache: Pick<CountCache, 'followCounts'>,
  subjects: readonly Subject[],
  listener: (changed: CountedSubject) => void,
  onGap?: () => void,
): Promise<() => void> {
  const told = new Map(subjects.map((subject) => [nameOf(subject), -1]))
  const following = cache.followCounts((changed) => {
    if (changed.counts.version <= (told.get(nameOf(changed)) ?? Infinity)) return
    told.set(nameOf(changed), changed.counts.version)
    listener(changed)
  }, onGap)
  let isStopped = false
  await following.add(subjects)
  return () => {
    if (!isStopped) following.remove(subjects)
    isStopped = true
    following.stop()
  }
}

function nameOf({ business, oid }: Subject): string {
  return `${business}:${oid}`
}
