/** Converts outgoing events of marks to the messages of `schema/records.proto` and back. Consumers of other teams read these bytes. */
import { tidemark } from '../../../schema/records.js'
import type { CountEvent, MarkEvent } from './events.ts'
import type { Mark } from '../../../core/domain.ts'
import { plainNumber } from '../../../core/protobuf.ts'

const KINDS = ['NONE', 'LIKE', 'DISLIKE'] as const satisfies readonly Mark[]

export function encodeMarkEvent(event: MarkEvent): Uint8Array {
  return tidemark.MarkEvent.encode({ ...event, old: KINDS.indexOf(event.old), mark: KINDS.indexOf(event.mark) }).finish()
}

/** Throws if the bytes are not such an event. */
export function decodeMarkEvent(bytes: Uint8Array): MarkEvent {
  const { id, viewer, business, oid, old, mark, markedAt, version } = tidemark.MarkEvent.decode(bytes)
  return { id, viewer, business, oid, old: kindOf(old), mark: kindOf(mark), markedAt: plainNumber(markedAt), version: plainNumber(version) }
}

export function encodeCountEvent({ id, business, oid, counts }: CountEvent): Uint8Array {
  return tidemark.CountEvent.encode({ id, business, oid, ...counts }).finish()
}

/** Throws if the bytes are not such an event. */
export function decodeCountEvent(bytes: Uint8Array): CountEvent {
  const { id, business, oid, likes, dislikes, version } = tidemark.CountEvent.decode(bytes)
  return { id, business, oid, counts: { likes: plainNumber(likes), dislikes: plainNumber(dislikes), version: plainNumber(version) } }
}

function kindOf(number: number): Mark {
  const kind = KINDS[number]
  if (kind === undefined) throw new RangeError(`mark kind ${number} is not valid`)
  return kind
}
