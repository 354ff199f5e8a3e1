/** Calls of the processes that the crash tests kill. The content of a call follows from its number. */
import type { Mark } from '../../../../../core/domain.ts'
import type { MarkWrite } from '../../../../../subgraphs/thumbup/stores/hot-store.ts'
import type { MarkRow } from '../../../../../subgraphs/thumbup/stores/record-store.ts'

/** The time of call 0. Each later call is a millisecond later. */
export const BASE = 1_700_000_000_000
export const PUT_VIEWERS = 40
export const ROW_VIEWERS = 30
export const ROW_OIDS = 5
export const STREAM = 'calls'

const PUT_MARKS: readonly Mark[] = ['LIKE', 'DISLIKE', 'NONE']
const ROW_MARKS: readonly Mark[] = ['NONE', 'LIKE', 'DISLIKE', 'LIKE']

/** 1 to 60 marks of viewers of several regions. No other call marks the same subjects. */
export function putsOf(call: number): MarkWrite[] {
  return Array.from({ length: 1 + (call % 60) }, (_, index) => ({
    viewer: String(1 + ((call + index) % PUT_VIEWERS)),
    business: 1,
    oid: `${call}-${index}`,
    mark: PUT_MARKS[index % 3] ?? 'NONE',
    markedAt: BASE + call,
    blind: true as const,
  }))
}

/** 1 to 40 rows. The number of the call is their version and orders them. */
export function rowsOf(call: number): MarkRow[] {
  return Array.from({ length: 1 + (call % 40) }, (_, index) => ({
    key: { viewer: String((call + index) % ROW_VIEWERS), business: 1, oid: String((call + index * 7) % ROW_OIDS) },
    record: { mark: ROW_MARKS[(call * 3 + index) % 4] ?? 'NONE', markedAt: BASE + call, version: call },
  })).filter(({ key }, index, rows) => rows.findIndex((row) => row.key.viewer === key.viewer && row.key.oid === key.oid) === index)
}
