/** Fills totals from the record store, and adds blocks when there are too many subjects for them. */
import { scriptCommand, type Command, type Connection } from '../../../../../stores/redis/connection.ts'
import type { CountRow } from '../../../model/counts.ts'
import { schemaText } from '../../../packed/counter-schema.ts'
import type { CounterStore } from '../../counter-store.ts'
import { SUBJECTS_PER_BLOCK, blockOf, hashOf, idsIn, splitBlockOf } from './blocks.ts'
import type { CounterLayout } from './keys.ts'
import { SCRIPTS } from './scripts.ts'
import { batchesOf, type Batch, type Placed, type Shelf, type Sizes } from './sizes.ts'

export function makeFilling(connection: Connection, layout: CounterLayout, sizes: Sizes): CounterStore['fillTotals'] {
  function fillCommand({ region, business, items }: Batch<{ row: CountRow; placed: Placed }>): Command {
    const schema = sizes.schemaOf(business)
    const keys: string[] = []
    const args = items.flatMap(({ row, placed }) => {
      const key = sizes.keyOf(placed)
      const at = keys.includes(key) ? keys.indexOf(key) : keys.push(key) - 1
      const { entry, overflow } = schema.pack(row.counts)
      return [at, placed.oid, entry, overflow ?? '']
    })
    const highest = items.reduce((version, { row }) => Math.max(version, row.version), 0)
    return scriptCommand(
      SCRIPTS.fill,
      [layout.version(region), layout.size(region, business), layout.overflow(region, business), ...keys],
      [sizes.numberOf({ region, business }), schema.entryBytes, schemaText(schema), highest, ...args],
    )
  }

  /** Adds blocks until there are enough for so many subjects. Another process may do the same: the one that comes second stops. */
  async function growTo(shelf: Shelf, subjects: number): Promise<void> {
    const { region, business } = shelf
    const { entryBytes } = sizes.schemaOf(business)
    for (let blocks = sizes.numberOf(shelf); subjects > blocks * SUBJECTS_PER_BLOCK; blocks++) {
      const keys = [
        layout.size(region, business),
        layout.block(region, business, splitBlockOf(blocks)),
        layout.block(region, business, blocks),
      ]
      const [block] = await connection.send([{ name: 'get', args: [keys[1] as string] }])
      const ids = block === null ? [] : idsIn(block as Buffer, entryBytes)
      const going = ids.filter((id) => blockOf(hashOf(id), blocks + 1) === blocks)
      const [moved] = await connection.send([scriptCommand(SCRIPTS.split, keys, [blocks, entryBytes, ids.length, ...going])])
      if (moved === 0) return
      sizes.note(shelf, blocks + 1)
    }
  }

  return async function fillTotals(bases: readonly CountRow[]): Promise<void> {
    let open = bases.map((row) => ({ row, placed: sizes.place(row.subject) }))
    const grown = new Map<string, { shelf: Shelf; subjects: number }>()
    while (open.length > 0) {
      await sizes.learn(open.map(({ placed }) => placed))
      const batches = batchesOf(open)
      const answers = (await connection.send(batches.map(fillCommand))) as [number, Buffer, number?][]
      open = []
      for (const [at, batch] of batches.entries()) {
        const [isStored, blocks, subjects = 0] = answers[at] as [number, Buffer, number?]
        sizes.note(batch, Number(blocks))
        if (isStored === 1) grown.set(`${batch.region}:${batch.business}`, { shelf: batch, subjects })
        else open.push(...batch.items)
      }
    }
    await Promise.all(Array.from(grown.values(), ({ shelf, subjects }) => growTo(shelf, subjects)))
  }
}
