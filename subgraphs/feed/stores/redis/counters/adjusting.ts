/**
 * Applies events, one script per call, region and business; a large call has several, so that none blocks its server for more than about a
 * millisecond. A script that was sent again after a lost answer finds its events counted.
 */
import { TidemarkError } from '../../../../../core/errors.ts'
import { scriptCommand, type Command, type Connection } from '../../../../../stores/redis/connection.ts'
import { DELTA_MAX, type CountEvent } from '../../../model/counts.ts'
import type { CounterSchema } from '../../../packed/counter-schema.ts'
import type { CounterStore, CountOutcome } from '../../counter-store.ts'
import { EVENT_HASH_BYTES, hashOfEvent } from '../../event-hash.ts'
import type { CounterLayout } from './keys.ts'
import { SCRIPTS } from './scripts.ts'
import { batchesOf, type Batch, type Placed, type Sizes } from './sizes.ts'

const EVENT_BYTES = 2 + 1 + 4 + EVENT_HASH_BYTES

type Change = { event: CountEvent; placed: Placed; index: number }

export function makeAdjusting(connection: Connection, layout: CounterLayout, sizes: Sizes, rememberMs: number): CounterStore['adjust'] {
  function adjustCommand({ region, business, items }: Batch<Change>, now: number): Command {
    const schema = sizes.schemaOf(business)
    const period = Math.floor(now / rememberMs)
    const { keys: blocks, subjects, placeOf } = addressed(items)
    const events = Buffer.allocUnsafe(items.length * EVENT_BYTES)
    let end = 0
    for (const { event, placed } of items) {
      end = events.writeUInt16BE(placeOf(placed), end)
      end = events.writeUInt8(schema.names.indexOf(event.counter), end)
      end = events.writeInt32BE(event.delta, end)
      end += hashOfEvent(event).copy(events, end)
    }
    const keys = [
      ...[layout.version(region), layout.dirty(region), layout.versions(region)],
      ...[layout.size(region, business), layout.overflow(region, business)],
      ...[period - 1, period, period + 1].map((each) => layout.events(region, each)),
      ...blocks,
    ]
    const numbers = [now, 3 * rememberMs, sizes.numberOf({ region, business }), schema.entryBytes]
    return scriptCommand(SCRIPTS.adjust, keys, [...numbers, fieldsOf(schema), u16(business), subjects, events])
  }

  /** The blocks of these subjects, each once, and the subjects in the format of the script, each once. */
  function addressed(items: readonly { placed: Placed }[]) {
    const keys: string[] = []
    const subjects: Buffer[] = []
    const places = new Map<string, number>()
    for (const { placed } of items) {
      if (places.has(placed.subject.oid)) continue
      places.set(placed.subject.oid, places.size)
      const key = sizes.keyOf(placed)
      const at = keys.includes(key) ? keys.indexOf(key) : keys.push(key) - 1
      subjects.push(u16(at), placed.oid)
    }
    return { keys, subjects: Buffer.concat(subjects), placeOf: ({ subject }: Placed) => places.get(subject.oid) as number }
  }

  return async function adjust(events: readonly CountEvent[], now: number): Promise<CountOutcome[]> {
    const outcomes: CountOutcome[] = Array.from({ length: events.length })
    let open = events.map((event, index): Change => ({ event, index, placed: sizes.place(event.subject) }))
    for (const { event } of open) if (Math.abs(event.delta) > DELTA_MAX) throw new Error(`a delta of ${event.delta} is out of range`)
    while (open.length > 0) {
      await sizes.learn(open.map(({ placed }) => placed))
      const batches = batchesOf(open)
      const answers = (await connection.send(batches.map((batch) => adjustCommand(batch, now)))) as [Buffer, Buffer][]
      open = []
      for (const [at, batch] of batches.entries()) {
        const [letters, blocks] = answers[at] as [Buffer, Buffer]
        sizes.note(batch, Number(blocks))
        for (const [place, item] of batch.items.entries()) {
          const outcome = outcomeOf(String.fromCharCode(letters[place] as number), item)
          if (outcome === 'moved') open.push(item)
          else outcomes[item.index] = outcome
        }
      }
    }
    return outcomes
  }
}

function u16(value: number): Buffer {
  return Buffer.from([value >>> 8, value & 0xff])
}

/** In the format of the script. */
function fieldsOf({ widths }: CounterSchema<string>): Buffer {
  const packed = Buffer.allocUnsafe(widths.length * 4)
  let from = 0
  widths.forEach((width, at) => {
    packed.writeUInt16BE(width, packed.writeUInt16BE(from, at * 4))
    from += width
  })
  return packed
}

function outcomeOf(letter: string, { event }: Change): CountOutcome | 'moved' {
  switch (letter) {
    case 'c':
      return 'counted'
    case 'r':
      return 'repeated'
    case 'i':
      return 'invalid'
    case 'b':
      return 'needs-base'
    case 'm':
      return 'moved'
    default:
      throw new TidemarkError(
        'DATA_DAMAGED',
        `the overflow entry of ${event.subject.business}/${event.subject.oid} in Redis is damaged: restore the backup of Redis`,
      )
  }
}
