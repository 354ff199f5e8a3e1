/**
 * The changes of some businesses in a feed that has more. All other changes are skipped. Two feeds of two databases may share the topic of
 * events, and a database may still hold counts of a business that moved to another.
 */
import type { CountFeed } from './count-feed.ts'
import type { BusinessNumber } from '../../../core/domain.ts'

export function partOfFeed(feed: CountFeed, isOurs: (business: BusinessNumber) => boolean): CountFeed {
  return {
    start(onChanges, onGap) {
      return feed.start(async (changes) => {
        const counts = changes.counts.filter(({ business }) => isOurs(business))
        const owners = changes.owners.filter(({ business }) => isOurs(business))
        if (counts.length + owners.length > 0) await onChanges({ counts, owners })
      }, onGap)
    },
  }
}
