/** The number of blocks of each region and business, as this process knows it. It only grows, unless Redis loses its data. */
import type { BusinessNumber, Subject } from '../../../../../core/domain.ts'
import { TidemarkError } from '../../../../../core/errors.ts'
import type { Connection } from '../../../../../stores/redis/connection.ts'
import type { CounterSchemas } from '../../../model/counts.ts'
import { schemaText, type CounterSchema } from '../../../packed/counter-schema.ts'
import { blockOf, hashOf, packedOid } from './blocks.ts'
import type { CounterLayout } from './keys.ts'

export type Shelf = { region: number; business: BusinessNumber }

/** A subject, as the scripts address it. */
export type Placed = Shelf & { subject: Subject; oid: Buffer; hash: number }

export type Sizes = ReturnType<typeof makeSizes>

export function makeSizes(connection: Connection, layout: CounterLayout, schemas: CounterSchemas) {
  const known = new Map<string, number>()
  const nameOf = ({ region, business }: Shelf): string => `${region}:${business}`

  /** The answers, by name of the shelf. The known numbers may be those of another call already. */
  async function ask(shelves: readonly Shelf[]): Promise<Map<string, number>> {
    const numbers = new Map<string, number>()
    if (shelves.length === 0) return numbers
    const distinct = [...new Map(shelves.map((shelf) => [nameOf(shelf), shelf])).values()]
    const answers = (await connection.send(
      distinct.map(({ region, business }) => ({ name: 'hmget', args: [layout.size(region, business), 'blocks', 'schema'] })),
    )) as (Buffer | null)[][]
    distinct.forEach((shelf, at) => {
      const [blocks, written] = (answers[at] ?? []).map((each) => each?.toString())
      const { region, business } = shelf
      const ours = schemaText(schemaOf(business))
      if (written !== undefined && written !== ours) {
        throw new TidemarkError(
          'DATA_INCOMPATIBLE',
          `Redis has the counters of business ${business} as "${written}", and "${ours}" is configured: configure the stored counters again, or follow "Change the counters of a business" in docs/operating/feed-data.md, which deletes "${layout.size(region, business)}" and its blocks after all totals are persisted`,
        )
      }
      numbers.set(nameOf(shelf), Number(blocks ?? 1))
    })
    for (const [name, blocks] of numbers) known.set(name, blocks)
    return numbers
  }

  function schemaOf(business: BusinessNumber): CounterSchema<string> {
    const schema = schemas.get(business)
    if (schema === undefined)
      throw new TidemarkError('BUSINESS_UNKNOWN', `business ${business} has no counters: give it some in the configuration`)
    return schema
  }

  const numberOf = (shelf: Shelf): number => known.get(nameOf(shelf)) ?? 1
  const blockNumberOf = (placed: Placed): number => blockOf(placed.hash, numberOf(placed))

  return {
    schemaOf,
    place(subject: Subject): Placed {
      const { business, oid } = subject
      const packed = packedOid(oid)
      return { subject, business, region: layout.regionOf(oid), oid: packed, hash: hashOf(packed) }
    },
    numberOf,
    blockNumberOf,
    keyOf: (placed: Placed): string => layout.block(placed.region, placed.business, blockNumberOf(placed)),
    /** Asks for the numbers that this process does not know. Throws DATA_INCOMPATIBLE if the entries have another schema. */
    async learn(shelves: readonly Shelf[]): Promise<void> {
      await ask(shelves.filter((shelf) => !known.has(nameOf(shelf))))
    },
    /**
     * Asks for the numbers of blocks. Resolves with the subjects that are in another block than the one that was read. A comparison with
     * the number before the question is not enough: a fill of this process may have noted the new number during the read.
     */
    async movedFrom(read: readonly { placed: Placed; block: number }[]): Promise<Placed[]> {
      const numbers = await ask(read.map(({ placed }) => placed))
      return read.flatMap(({ placed, block }) => (blockOf(placed.hash, numbers.get(nameOf(placed)) as number) === block ? [] : [placed]))
    },
    note: (shelf: Shelf, blocks: number): void => void known.set(nameOf(shelf), blocks),
  }
}

const ITEMS_PER_SCRIPT = 50

export type Batch<T> = Shelf & { items: T[] }

/** Items of one region and business each, few enough for a script that takes less than a millisecond. */
export function batchesOf<T extends { placed: Placed }>(items: readonly T[]): Batch<T>[] {
  const all: Batch<T>[] = []
  const open = new Map<string, Batch<T>>()
  for (const item of items) {
    const { region, business } = item.placed
    const name = `${region}:${business}`
    let batch = open.get(name)
    if (batch === undefined || batch.items.length >= ITEMS_PER_SCRIPT) {
      batch = { region, business, items: [] }
      open.set(name, batch)
      all.push(batch)
    }
    batch.items.push(item)
  }
  return all
}
