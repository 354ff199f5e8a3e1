/**
 * The changes of some businesses out of a feed that has more: what is not asked for neither waits nor is waited for. Two
 * feeds of two databases share the topic of events, and a database may hold counts of a business that has moved to another.
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
