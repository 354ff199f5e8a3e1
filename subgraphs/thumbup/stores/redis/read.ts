/**
 * Point lookups of marks (`lists.ts` has the pages). There is no script. For a page, each viewer and business takes four commands, and
 * all commands share one round trip.
 *
 * The answers are not of one moment, but their order makes that harmless: the state, the sorted sets, then the hash with the state again. A
 * mark that changes in between leaves its sorted set, and the hash has the change, which wins. A miss counts as NONE only if the first
 * state is not "unknown" and the second is "complete". In between, the marks of an unknown viewer may be filled, and a mark may be trimmed.
 * `sendInOrder` keeps the order in a repetition. One case remains: a mark that
 * moves to the other list, and is persisted and cleared between two of the commands, may read as NONE.
 */
import type { MarkKey } from '../../../../core/domain.ts'
import type { DirtyMark, HotMark } from '../hot-store.ts'
import type { Command, Connection } from '../../../../stores/redis/connection.ts'
import { chunked } from '../../../../stores/chunks.ts'
import type { MarkLayout } from './keys.ts'
import { STATE_FIELD, cleanMark, decodeMark, kindOf } from './values.ts'
import type { HeldMark, MarksKind } from './values.ts'

type Asked = { likes: string; dislikes: string; marks: string; oids: string[]; indexes: number[] }
type Answers = (Buffer | null)[]

/**
 * Dirty marks of at most this many keys are read together. A persist step has up to 20,000 keys by default. All their commands together would fill
 * V8's young generation, and each collection would copy them. The price: 20,000 keys take up to 40 round trips in a row.
 */
const DIRTY_AT_ONCE = 1_000

export function makeMarkReading(connection: Connection, layout: MarkLayout) {
  /** The keys by viewer and business, one set of commands each. */
  function gather(keys: readonly MarkKey[], indexes: Iterable<number> = keys.keys()): Asked[] {
    const all = new Map<string, Asked>()
    let last: MarkKey | undefined
    let asked: Asked | undefined
    for (const index of indexes) {
      const key = keys[index] as MarkKey
      // Most calls are pages, whose keys are all of one viewer.
      if (asked === undefined || last?.viewer !== key.viewer || last.business !== key.business) {
        const name = `${key.business}:${key.viewer}`
        asked = all.get(name) ?? emptyOf(key)
        all.set(name, asked)
        last = key
      }
      asked.oids.push(key.oid)
      asked.indexes.push(index)
    }
    return [...all.values()]
  }

  function emptyOf({ viewer, business }: MarkKey): Asked {
    const of = [layout.regionOf(viewer), viewer, business] as const
    return { likes: layout.likes(...of), dislikes: layout.dislikes(...of), marks: layout.marks(...of), oids: [], indexes: [] }
  }

  /**
   * Dirty marks are in the hash. A key that is missing there is looked up in the sorted sets, and then in the hash once more:
   * 1. The hash does not have a clean mark.
   * 2. The mark changes.
   * 3. The sorted set has the change, and the hash its version.
   *
   * Without the second look, the change would be persisted and published without its version.
   */
  async function readChunk(keys: readonly MarkKey[]): Promise<DirtyMark[]> {
    const read: DirtyMark[] = keys.map((key) => ({ key, record: undefined }))
    const asked = gather(keys)
    const pending = (await connection.send(asked.map(({ marks, oids }) => ({ name: 'hmget', args: [marks, ...oids] })))) as Answers[]
    const missing: number[] = []
    asked.forEach(({ indexes }, at) =>
      indexes.forEach((index, place) => {
        const value = pending[at]?.[place]
        if (value) (read[index] as DirtyMark).record = decodeMark(value).record
        else missing.push(index)
      }),
    )
    const clean = gather(keys, missing)
    const commands = clean.map(({ likes, dislikes, marks, oids }) => [
      scores(likes, oids),
      scores(dislikes, oids),
      { name: 'hmget', args: [marks, ...oids] },
    ])
    const answers = clean.length === 0 ? [] : ((await connection.sendInOrder(commands)) as Answers[][])
    clean.forEach(({ indexes }, at) => {
      const [likes, dislikes, changed] = answers[at] as [Answers, Answers, Answers]
      indexes.forEach((index, place) => {
        const value = changed[place]
        ;(read[index] as DirtyMark).record = (value ? decodeMark(value) : heldIn(likes, dislikes, place))?.record
      })
    })
    return read
  }

  return {
    async getMarkMany(keys: readonly MarkKey[]): Promise<HotMark[]> {
      const found: HotMark[] = Array.from({ length: keys.length })
      const asked = gather(keys)
      const answers = (await connection.sendInOrder(
        asked.map(({ likes, dislikes, marks, oids }) => [
          { name: 'hget', args: [marks, STATE_FIELD] },
          scores(likes, oids),
          scores(dislikes, oids),
          { name: 'hmget', args: [marks, STATE_FIELD, ...oids] },
        ]),
      )) as [Buffer | null, Answers, Answers, Answers][]
      asked.forEach(({ indexes }, at) => {
        const [before, likes, dislikes, pending] = answers[at] as (typeof answers)[number]
        const miss = MISSES[kindOf(before) === 'unknown' ? 'unknown' : kindOf(pending[0])]
        indexes.forEach((index, place) => {
          const value = pending[place + 1]
          found[index] = value ? hotMarkOf(decodeMark(value)) : likes[place] ? CLEAN.LIKE : dislikes[place] ? CLEAN.DISLIKE : miss
        })
      })
      return found
    },

    async readDirtyMarks(keys: readonly MarkKey[]): Promise<DirtyMark[]> {
      const read: DirtyMark[] = []
      for (const some of chunked(keys, DIRTY_AT_ONCE)) read.push(...(await readChunk(some)))
      return read
    },
  }
}

const NOTHING = { mark: 'NONE', counted: 'NONE', pending: false } as const
/** Nearly all answers are one of these few. They are shared, and never changed. */
const MISSES: Record<MarksKind, HotMark> = {
  complete: NOTHING,
  unknown: { ...NOTHING, older: 'unknown' },
  truncated: { ...NOTHING, older: 'truncated' },
}
const CLEAN = {
  LIKE: { mark: 'LIKE', counted: 'LIKE', pending: false },
  DISLIKE: { mark: 'DISLIKE', counted: 'DISLIKE', pending: false },
} as const

function hotMarkOf({ record: { mark }, counted, dirty }: HeldMark): HotMark {
  return mark === 'NONE' ? { mark, counted, pending: dirty, undone: true } : { mark, counted, pending: dirty }
}

const scores = (list: string, oids: readonly string[]): Command => ({ name: 'zmscore', args: [list, ...oids] })

function heldIn(likes: Answers, dislikes: Answers, at: number): HeldMark | undefined {
  const like = likes[at]
  if (like) return cleanMark('LIKE', like)
  const dislike = dislikes[at]
  return dislike ? cleanMark('DISLIKE', dislike) : undefined
}
