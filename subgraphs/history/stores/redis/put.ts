/**
 * The viewer's actions: progress is written, deleted or cleared, and history is paused. One script per region and call.
 *
 * A script whose answer is lost is sent again, by `connection.ts` or by ioredis. A repeated put changes nothing. The other actions mean "as
 * of now", and a repetition would remove later writes. Their commands therefore carry a name, under which the region keeps the answer for a
 * minute (`answer.lua`). That is longer than any command is retried.
 */
import { randomBytes } from 'node:crypto'
import type { BusinessNumber, ProgressKey, ProgressRecord, ViewerId, ViewerSettings } from '../../../../core/domain.ts'
import { SETTINGS_BUSINESS, SETTINGS_OID } from '../../../../core/domain.ts'
import { PACKED_ID_BYTES_MAX, packId } from '../../../../core/keys.ts'
import type { DeleteOutcome, ProgressWrite, PutOptions, PutOutcome } from '../hot-store.ts'
import { scriptCommand } from '../../../../stores/redis/connection.ts'
import type { Argument, Command, Connection } from '../../../../stores/redis/connection.ts'
import { groupByRegion } from '../../../../stores/redis/grouping.ts'
import type { Grouped, RegionBatch } from '../../../../stores/redis/grouping.ts'
import { packMember } from './keys.ts'
import type { Layout } from './keys.ts'
import { SCRIPTS } from './scripts.ts'
import { decodeSettings } from './settings.ts'
import { decodeRecord, recordBytesMax, writeRecord, writeResume } from './values.ts'
import { lengthBefore, readVersion, writeVersion, packGroup } from '../../../../stores/redis/packing.ts'

const DECISIVE = 1
const BASE_KNOWN = 2
const BASE = 4
const CLAIMS_DAY = 8
const MERGES = 16
const DAY_FOR_ALL = 32

export function makeWriting(connection: Connection, layout: Layout, expireMs: number) {
  /** Sends one script per region and passes each item's answer to `take`. */
  async function perRegion<T>(
    batches: readonly RegionBatch<T>[],
    commandOf: (batch: RegionBatch<T>) => Command,
    take: (item: Grouped<T>, answer: Buffer, repeated: boolean) => void,
  ) {
    const commands = batches.map(commandOf)
    const answers = (await connection.send(commands)) as Buffer[][]
    batches.forEach(({ items }, at) =>
      items.forEach((item, place) => take(item, answers[at]?.[place] as Buffer, commands[at]?.repeated === true)),
    )
  }

  function putCommand({ region, groups, items }: RegionBatch<ProgressWrite>, { now, timelineCap }: PutOptions): Command {
    const keys = [layout.version(region), layout.dirty(region), layout.rewards(region)]
    const args: Argument[] = [now, timelineCap, expireMs, packWrites(items)]
    for (const { viewer, business } of groups) {
      keys.push(layout.contents(region, viewer, business), layout.timeline(region, viewer, business), layout.settings(region, viewer))
      args.push(packGroup(viewer, business), layout.channel(region, viewer))
    }
    if (items.some(({ item }) => item.dayForAll)) keys.push(...groups.map(({ viewer }) => layout.claimedDay(region, viewer)))
    return scriptCommand(SCRIPTS.putProgress, keys, args)
  }

  function deleteCommand({ region, groups, items }: RegionBatch<ProgressKey>, now: number): Command {
    const keys = [layout.version(region), layout.dirty(region), layout.tombstones(region), layout.answer(region, newCall())]
    const args: Argument[] = [now, expireMs, packKeys(items)]
    for (const { viewer, business } of groups) {
      keys.push(layout.contents(region, viewer, business), layout.timeline(region, viewer, business))
      args.push(packGroup(viewer, business), layout.channel(region, viewer))
    }
    return scriptCommand(SCRIPTS.deleteProgress, keys, args)
  }

  return {
    async putProgress(writes: readonly ProgressWrite[], options: PutOptions): Promise<PutOutcome[]> {
      const outcomes: PutOutcome[] = Array.from({ length: writes.length })
      const batches = groupByRegion(writes, addressOf, layout.regionOf)
      await perRegion(
        batches,
        (batch) => putCommand(batch, options),
        ({ index }, answer, repeated) => {
          outcomes[index] = decodeOutcome(answer, repeated)
        },
      )
      return outcomes
    },

    async deleteProgress(keys: readonly ProgressKey[], now: number): Promise<DeleteOutcome[]> {
      const outcomes: DeleteOutcome[] = Array.from({ length: keys.length })
      await perRegion(
        groupByRegion(keys, addressOf, layout.regionOf),
        (batch) => deleteCommand(batch, now),
        ({ index }, answer) => {
          outcomes[index] = { existed: answer[0] === 1, record: decodeRecord(answer, 1) }
        },
      )
      return outcomes
    },

    async clearProgress(viewer: ViewerId, business: BusinessNumber, now: number): Promise<number> {
      const region = layout.regionOf(viewer)
      const keys = [
        ...[layout.version(region), layout.dirty(region), layout.contents(region, viewer, business)],
        ...[layout.timeline(region, viewer, business), layout.settings(region, viewer), layout.answer(region, newCall())],
      ]
      const args = [now, expireMs, packGroup(viewer, business), packSettings(viewer), layout.channel(region, viewer)]
      const [clearedAt] = await connection.send([scriptCommand(SCRIPTS.clearProgress, keys, args)])
      return Number(String(clearedAt))
    },

    async setPaused(viewer: ViewerId, paused: boolean, now: number): Promise<ViewerSettings> {
      const region = layout.regionOf(viewer)
      const keys = [layout.version(region), layout.dirty(region), layout.settings(region, viewer), layout.answer(region, newCall())]
      const args = [now, paused ? 1 : 0, packSettings(viewer), layout.channel(region, viewer)]
      const [fields] = await connection.send([scriptCommand(SCRIPTS.setPaused, keys, args)])
      return decodeSettings(fields)
    },
  }
}

/** A name per command that must not be executed twice. It stays the same for every repetition. */
function newCall(): string {
  return randomBytes(12).toString('base64url')
}

const addressOf = <T extends ProgressKey>(item: T): T => item

function packSettings(viewer: ViewerId): Buffer {
  return packMember({ viewer, business: SETTINGS_BUSINESS, oid: SETTINGS_OID })
}

const BASE_AS_OF_BYTES = 7
const STALE_BYTES = 1 + 6
const WRITE_BYTES = 2 + 1 + 6 + 7 + 4 + 1 + 1 + 1

/** The format of `put-progress.lua`. */
function packWrites(items: readonly Grouped<ProgressWrite>[]): Buffer {
  let bytes = 0
  for (const { item } of items) {
    bytes +=
      WRITE_BYTES +
      PACKED_ID_BYTES_MAX +
      recordBytesMax(item.record.device) +
      BASE_AS_OF_BYTES +
      (item.base ? recordBytesMax(item.base.device) : 0)
  }
  const target = Buffer.allocUnsafe(bytes)
  let end = 0
  for (const { item, place } of items) {
    const { record, base, day, dayForAll } = item
    end = target.writeUInt16BE(place, end)
    target[end++] =
      (item.decisive ? DECISIVE : 0) |
      (base === undefined ? 0 : BASE_KNOWN) |
      (base ? BASE : 0) |
      (day === undefined ? 0 : CLAIMS_DAY) |
      (item.merges === true ? MERGES : 0) |
      (dayForAll === true ? DAY_FOR_ALL : 0)
    end = target.writeUIntBE(record.viewedAt, end, 6)
    end = writeVersion(record.rank, target, end)
    end = target.writeUInt32BE(day ?? 0, end)
    end = lengthBefore(target, end, (at) => packId(item.oid, target, at))
    end = lengthBefore(target, end, (at) => writeResume(record, target, at))
    end = lengthBefore(target, end, (at) => (base === undefined ? at : writeBase(base, item.baseAsOf, target, at)))
  }
  return target.subarray(0, end)
}

/** A base without a time is taken unconditionally. */
function writeBase(base: ProgressRecord | null, asOf: number | undefined, target: Buffer, offset: number): number {
  const end = writeVersion(asOf ?? Number.MAX_SAFE_INTEGER, target, offset)
  return base === null ? end : writeRecord(base, target, end)
}

function packKeys(items: readonly Grouped<ProgressKey>[]): Buffer {
  const target = Buffer.allocUnsafe(items.length * (3 + PACKED_ID_BYTES_MAX))
  let end = 0
  for (const { item, place } of items) {
    end = target.writeUInt16BE(place, end)
    end = lengthBefore(target, end, (at) => packId(item.oid, target, at))
  }
  return target.subarray(0, end)
}

function decodeOutcome(answer: Buffer, repeated: boolean): PutOutcome {
  switch (answer[0]) {
    case 0:
      return {
        status: 'stale',
        record: answer.length > STALE_BYTES ? decodeRecord(answer, STALE_BYTES) : undefined,
        voidUntil: answer.readUIntBE(1, STALE_BYTES - 1),
        ...(repeated && { repeated }),
      }
    case 1:
      return decodeWritten(answer, false)
    case 2:
      return { status: 'paused' }
    case 3:
      return { status: 'needs-base', asOf: readVersion(answer, 1), ...(repeated && { repeated }) }
    default:
      return decodeWritten(answer, true)
  }
}

/** The merged record after its length, and the record before it. */
function decodeWritten(answer: Buffer, firstOfDay: boolean): PutOutcome {
  const end = 2 + (answer[1] as number)
  return {
    status: 'written',
    record: decodeRecord(answer.subarray(2, end)),
    before: answer.length > end ? decodeRecord(answer, end) : undefined,
    firstOfDay,
  }
}
