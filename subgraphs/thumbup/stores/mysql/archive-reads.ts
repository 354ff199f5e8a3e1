/** Reads the archived marks of these keys, covered by a row or not. */
import { gatherDamage } from '../../model/damaged-marks.ts'
import type { MarkKey, MarkRecord } from '../../../../core/domain.ts'
import { findInBlocks } from '../../archive/blocks.ts'
import type { Session } from '../../../../stores/mysql/database.ts'
import { packSubject } from './rows.ts'
import { SELECT_ANY_BLOCK, selectBlocks } from './statements.ts'
import { KEYS_MAX, placed } from '../../../../stores/mysql/tuples.ts'

/** Blocks keep no versions: of two marks of one time, the row wins over the archived mark. */
export function archivedRecord({ mark, markedAt }: Pick<MarkRecord, 'mark' | 'markedAt'>): MarkRecord {
  return { mark, markedAt, version: 0 }
}

/**
 * In key order. Viewers' blocks have no order by id, so all blocks of a viewer in a business are read. Rejects with DamagedMarks for all
 * viewers with a damaged block.
 */
export async function findArchived(session: Session, keys: readonly MarkKey[]): Promise<(MarkRecord | undefined)[]> {
  const found = keys.map((): MarkRecord | undefined => undefined)
  if (keys.length === 0 || (await session.send(SELECT_ANY_BLOCK)).rows.length === 0) return found
  const viewers = new Map<string, { tuple: readonly string[]; places: number[] }>()
  keys.forEach(({ business, viewer }, place) => {
    const { order, tuple } = packSubject({ business, oid: viewer })
    const known = viewers.get(order)
    if (known === undefined) viewers.set(order, { tuple: ['0', ...tuple], places: [place] })
    else known.places.push(place)
  })
  const all = [...viewers.values()]
  const damage = gatherDamage()
  for (let start = 0; start < all.length; start += KEYS_MAX) {
    const chunk = all.slice(start, start + KEYS_MAX)
    const blocks = new Map<number, Buffer[]>()
    for (const [i, , , block] of (await session.send(selectBlocks(placed(chunk.map(({ tuple }) => tuple))))).rows) {
      const known = blocks.get(Number(i))
      if (known === undefined) blocks.set(Number(i), [block as Buffer])
      else known.push(block as Buffer)
    }
    for (const [i, ofViewer] of blocks) {
      const { places } = chunk[i] as { places: number[] }
      const owner = keys[places[0] as number] as MarkKey
      const oids = places.map((place) => (keys[place] as MarkKey).oid)
      const entries = damage.read(owner, () => findInBlocks(ofViewer, oids))
      entries?.forEach((entry, at) => entry && (found[places[at] as number] = archivedRecord(entry)))
    }
  }
  damage.throwIfAny()
  return found
}
