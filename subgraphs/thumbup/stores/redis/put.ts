/**
 * Viewers' writes, one atomic step per region and call, and fills from the record store. Both may be sent again after a lost answer: the store
 * then holds the written mark, or a newer one.
 */
import type { BusinessNumber, MarkRecord, ViewerId } from '../../../../core/domain.ts'
import { ID_BYTES_MAX } from '../../../../core/keys.ts'
import type { FillOptions, MarkOutcome, MarkPutOptions, MarkWrite } from '../hot-store.ts'
import { scriptCommand } from '../../../../stores/redis/connection.ts'
import type { Command, Connection } from '../../../../stores/redis/connection.ts'
import { answersOf, groupByRegion, scriptsOf } from '../../../../stores/redis/grouping.ts'
import type { RegionBatch } from '../../../../stores/redis/grouping.ts'
import type { MarkLayout } from './keys.ts'
import { ITEMS_PER_SCRIPT, regionsCommand, viewerKeys } from './regions-command.ts'
import { RECORD_BYTES, decodeMark, markNumber, markOf, writeMark } from './values.ts'
import { SCRIPTS } from './scripts.ts'
import { lengthBefore, readVersion, writeVersion, packGroup } from '../../../../stores/redis/packing.ts'

const BASE_KNOWN = 4
const BASE = 8
const BLIND = 16
const WRITE_BYTES_MAX = 1 + 6 + 1 + ID_BYTES_MAX + 1 + 7 + RECORD_BYTES

export function makeMarkWriting(connection: Connection, layout: MarkLayout, expireMs: number) {
  const putCommand = (batches: readonly RegionBatch<MarkWrite>[], { now, cap }: MarkPutOptions): Command =>
    regionsCommand(SCRIPTS.putMarks, layout, batches, [now, cap, expireMs], WRITE_BYTES_MAX, writeWrite)

  return {
    async putMarks(writes: readonly MarkWrite[], options: MarkPutOptions): Promise<MarkOutcome[]> {
      const scripts = scriptsOf(
        groupByRegion(writes, (write) => write, layout.regionOf),
        connection.isCluster,
        ITEMS_PER_SCRIPT,
      )
      const commands = scripts.map((batches) => putCommand(batches, options))
      const answers = (await connection.send(commands)) as Buffer[][]
      return answersOf(scripts, answers, (answer, at) => decodeOutcome(answer, commands[at]?.repeated === true))
    },

    async fillMarks(
      viewer: ViewerId,
      business: BusinessNumber,
      rows: readonly (MarkRecord & { oid: string })[],
      { cap, asOf, whole }: FillOptions,
    ): Promise<void> {
      const region = layout.regionOf(viewer)
      const keys = [layout.version(region), ...viewerKeys(layout, region, viewer, business)]
      const newest = rows.reduce((highest, { version }) => Math.max(highest, version), 0)
      const args = [cap, expireMs, asOf, whole ? 1 : 0, packGroup(viewer, business), packRows(rows), newest]
      await connection.send([scriptCommand(SCRIPTS.fillMarks, keys, args)])
    },
  }
}

/** In the format of `put-marks.lua`. */
function writeWrite({ mark, markedAt, oid, base, baseAsOf, blind }: MarkWrite, target: Buffer, offset: number): number {
  target[offset] = markNumber(mark) | (base === undefined ? 0 : BASE_KNOWN) | (base ? BASE : 0) | (blind === true ? BLIND : 0)
  const end = lengthBefore(target, target.writeUIntBE(markedAt, offset + 1, 6), (at) => at + target.write(oid, at))
  return lengthBefore(target, end, (at) => {
    if (base === undefined) return at
    // A base without a time is accepted as it is.
    const behind = writeVersion(baseAsOf ?? Number.MAX_SAFE_INTEGER, target, at)
    return base === null ? behind : writeMark(base, target, behind)
  })
}

/** In the format of `fill-marks.lua`. */
function packRows(rows: readonly (MarkRecord & { oid: string })[]): Buffer {
  const target = Buffer.allocUnsafe(rows.length * (1 + 6 + 1 + ID_BYTES_MAX))
  let end = 0
  for (const { oid, mark, markedAt } of rows) {
    target[end++] = markNumber(mark)
    end = target.writeUIntBE(markedAt, end, 6)
    end = lengthBefore(target, end, (at) => at + target.write(oid, at))
  }
  return target.subarray(0, end)
}

function decodeOutcome(answer: Buffer, repeated: boolean): MarkOutcome {
  switch (answer[0]) {
    case 0:
      return { status: 'stale', record: decodeMark(answer, 1).record, ...(repeated && { repeated }) }
    case 1:
      return { status: 'written', old: markOf(answer[1] as number), record: decodeMark(answer, 2).record }
    default:
      return { status: 'needs-base', unknown: answer[1] === 1, asOf: readVersion(answer, 2), ...(repeated && { repeated }) }
  }
}
