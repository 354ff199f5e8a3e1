/** The subjects that count streams of this process follow: one entry per subject, with its last reported counts and its followers. */
import type { BusinessNumber, CountedSubject, Subject, SubjectCounts } from '../../../core/domain.ts'
import type { CountStream, Followed } from './count-stream.ts'

export function makeFollowedSubjects() {
  const followed = new Map<BusinessNumber, Map<string, Followed>>()

  function attach(subjects: readonly Subject[], stream: CountStream): Followed[] {
    const own = new Set<Followed>()
    for (const { business, oid } of subjects) {
      let ofBusiness = followed.get(business)
      if (ofBusiness === undefined) followed.set(business, (ofBusiness = new Map()))
      const entry = ofBusiness.get(oid)
      if (entry !== undefined) entry.followers = withFollower(entry.followers, stream)
      const added = entry ?? { business, oid, likes: 0, dislikes: 0, version: 0, followers: stream }
      if (entry === undefined) ofBusiness.set(oid, added)
      own.add(added)
    }
    return [...own]
  }

  function detach(stream: CountStream): void {
    for (const entry of stream.followed) {
      if (
        entry.followers !== stream &&
        (entry.followers as Set<CountStream>).delete(stream) &&
        (entry.followers as Set<CountStream>).size > 0
      )
        continue
      followed.get(entry.business)?.delete(entry.oid)
    }
  }

  function changed({ business, oid, counts }: CountedSubject): void {
    const entry = followed.get(business)?.get(oid)
    if (entry !== undefined) update(entry, counts)
  }

  return {
    attach,
    detach,
    changed,
    all: (): Followed[] => [...followed.values()].flatMap((ofBusiness) => [...ofBusiness.values()]),
    count: (): number => [...followed.values()].reduce((sum, { size }) => sum + size, 0),
    clear: (): void => followed.clear(),
  }
}

/** Streams ignore equal or older versions, such as those of a cache that was filled again. */
function update(entry: Followed, { likes, dislikes, version }: SubjectCounts): void {
  if (version <= entry.version) return
  entry.likes = likes
  entry.dislikes = dislikes
  entry.version = version
  if (entry.followers instanceof Set) for (const stream of entry.followers) stream.changed(entry)
  else entry.followers.changed(entry)
}

function withFollower(followers: Followed['followers'], stream: CountStream): Followed['followers'] {
  if (followers instanceof Set) return followers.add(stream)
  return followers === stream ? followers : new Set([followers, stream])
}
