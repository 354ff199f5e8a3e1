/**
 * The service's own events of counts (`stores/events.ts`) in the shape of a change feed. They carry no owners' sums: the job puts those
 * into the cache itself, and a change feed that comes back delivers the missed ones.
 *
 * An event is appended after the commit of its transaction, by the job or later from the outbox. `readUntil` therefore means here: every
 * event appended before this time has come.
 */
import type { CountFeed } from './count-feed.ts'
import type { MarkEvents } from '../stores/events.ts'

export function makeEventFeed(events: Pick<MarkEvents, 'consumeCounts'>, group: string): CountFeed {
  return {
    async start(onChanges) {
      const consumer = await events.consumeCounts(group, (some) =>
        onChanges({ counts: some.map(({ business, oid, counts }) => ({ business, oid, counts })), owners: [] }),
      )
      const ended = Promise.withResolvers<unknown>()
      return {
        readUntil: () => consumer.readUntil(),
        ended: ended.promise,
        async stop() {
          await consumer.stop()
          ended.resolve(new Error('the feed of events was stopped'))
        },
      }
    },
  }
}
