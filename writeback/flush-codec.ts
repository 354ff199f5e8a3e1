/** The messages of the log, encoded and decoded, as `schema/records.proto` defines them. */
import { tidemark } from '../schema/records.js'
import type { FlushMessage } from './log.ts'
import type { FlushedKey, RewardEvent } from '../core/domain.ts'
import { checkId } from '../core/keys.ts'
import { REWARD_KINDS } from '../core/rewards.ts'

type Subjects = { business: number; oids: string[]; stagedOn: number }

const BUSINESSES = 65_536

/** Keys are grouped by viewer, business and day of staging, which saves most of the bytes. Their order is not kept. */
export function encodeFlush(message: FlushMessage): Uint8Array {
  const viewers = new Map<string, Map<number, Subjects>>()
  for (const { viewer, business, oid, stagedOn = 0 } of message.keys) {
    const groups = entryOf(viewers, viewer, () => new Map<number, Subjects>())
    entryOf(groups, stagedOn * BUSINESSES + business, () => ({ business, oids: [], stagedOn })).oids.push(oid)
  }
  return tidemark.Flush.encode({
    region: message.region,
    viewers: Array.from(viewers, ([viewer, groups]) => ({ viewer, subjects: [...groups.values()] })),
  }).finish()
}

/**
 * Ids are checked too: a key that no store can hold would fail the persist step for ever, so the whole message is refused here. No write is
 * lost: only Tidemark writes these messages, and the sweeper persists the keys.
 */
export function decodeFlush(bytes: Uint8Array): FlushMessage {
  const message = tidemark.Flush.decode(bytes)
  const keys: FlushedKey[] = []
  for (const { viewer = '', subjects } of message.viewers) {
    for (const { business, oids, stagedOn } of subjects ?? []) {
      for (const oid of oids ?? []) keys.push(checkedKey(viewer ?? '', business ?? 0, oid, stagedOn ?? 0))
    }
  }
  return { region: message.region, keys }
}

function checkedKey(viewer: string, business: number, oid: string, stagedOn: number): FlushedKey {
  checkId(viewer, 'viewer')
  checkId(oid, 'oid')
  if (business >= BUSINESSES) throw new RangeError(`business ${business} is not a number from 0 to 65535`)
  return stagedOn === 0 ? { viewer, business, oid } : { viewer, business, oid, stagedOn }
}

export function encodeReward(event: RewardEvent): Uint8Array {
  return tidemark.Reward.encode({ ...event, kind: REWARD_KINDS.indexOf(event.kind) }).finish()
}

export function decodeReward(bytes: Uint8Array): RewardEvent {
  const { id, viewer, business, day, kind } = tidemark.Reward.decode(bytes)
  return { id, viewer, business, day, kind: REWARD_KINDS[kind] ?? 'FIRST_VIEW' }
}

function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key)
  if (found !== undefined) return found
  const made = make()
  map.set(key, made)
  return made
}
