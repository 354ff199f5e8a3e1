/** The counter events of a service: new ones, repeated ones, and subtractions that arrive before their additions. */
import { randomBelow } from '../../../core/random.ts'
import { SCOPE_COUNTS_WRITE } from '../../../core/viewer.ts'
import type { OwnServerName } from '../../deployment/own-servers.ts'
import type { Device } from './device.ts'
import type { CountedEvent } from './history.ts'
import type { Known } from './known.ts'
import type { UserErrors } from './writing.ts'

const COUNT = `mutation ($events: [CountEventInput!]!) { adjustCounts(input: { events: $events }) { results { outcome userErrors { code } } userErrors { code } } }`

type Event = Pick<CountedEvent, 'key' | 'id' | 'counter' | 'delta'>

const EVENTS_MAX = 4
/** Events of a lane that were refused because the counter was too low, and are sent again. */
const WAITING_MAX = 20
/** Counts of posts that the hot store does not hold begin with those of the record store. Without either store such events are refused. */
const STORE_OF: Record<string, OwnServerName> = { HOT_STORE_UNAVAILABLE: 'redis', RECORD_STORE_UNAVAILABLE: 'mariadb' }

export function makeCounting({ lane, random, ask }: Device, known: Known) {
  const { history } = known
  const waiting: Event[] = []
  let made = 0

  function newEvents(): Event[] {
    const post = known.somePost(random)
    if (post?.isPublic !== true) return []
    const delta = 1 + randomBelow(random, 3)
    const counter = random() < 0.7 ? 'COMMENT' : 'READ'
    const added: Event = { key: `event ${lane.number}.${++made}`, id: post.id, counter, delta }
    if (random() < 0.7) return [added]
    // Out of order: the subtraction comes before its addition.
    return [{ key: `end ${added.key}`, id: post.id, counter, delta: -delta }, added]
  }

  /** Sends new events, repeated events, and events that were refused as too early, in one call. */
  async function count(): Promise<void> {
    const old = Array.from({ length: randomBelow(random, 2) }, () => known.someEvent(random)).filter((event) => event !== undefined)
    const early = waiting.splice(0, 2)
    const all = [...old, ...Array.from({ length: 1 + randomBelow(random, EVENTS_MAX) }, newEvents).flat(), ...early]
    await sendEvents([...new Map(all.map((event) => [event.key, event])).values()], new Set([...old, ...early].map(({ key }) => key)))
  }

  /** Until each event has an answer that is no outage. */
  async function sendEvents(events: readonly Event[], sentBefore: ReadonlySet<string>): Promise<void> {
    const since = new Map<string, number>()
    for (let open = events; open.length > 0;) {
      const sent = open.map(({ key, id, counter, delta }) => ({ key, id, counter, delta }))
      const { data, begun, ended, tries, out } = await ask<{ adjustCounts: { results: { outcome: string; userErrors: UserErrors }[] } }>(
        'count',
        'service',
        COUNT,
        { events: sent },
        SCOPE_COUNTS_WRITE,
      )
      const { results } = data.adjustCounts
      open = sent.filter((event, at) => {
        const { outcome, userErrors } = results[at] as (typeof results)[number]
        const answer = outcome === 'REJECTED' ? (userErrors[0]?.code ?? outcome) : outcome
        // While the hot store fails, the gateway itself repeats the event.
        const isFirst = tries === 1 && !out.includes('redis') && !since.has(event.key) && !sentBefore.has(event.key)
        if (!since.has(event.key)) since.set(event.key, begun)
        if (STORE_OF[answer] !== undefined && out.includes(STORE_OF[answer])) return true
        note({ ...event, begun: since.get(event.key) as number, ended, answer, isFirst })
        return false
      })
    }
  }

  function note(event: CountedEvent): void {
    history.events.push(event)
    if (event.answer === 'COUNTED') known.counted(event)
    if (event.answer === 'DELTA_INVALID' && waiting.length < WAITING_MAX) waiting.push(event)
  }

  return { count }
}
