/**
 * Reads totals: one MGET of blocks, which have all counters of a subject in one place. A subject with a saturated counter takes a second
 * round trip, because its overflow entry must be of the same moment.
 */
import type { Subject } from '../../../../../core/domain.ts'
import { scriptCommand, type Connection } from '../../../../../stores/redis/connection.ts'
import type { Counts } from '../../../model/counts.ts'
import { findEntry } from './blocks.ts'
import type { CounterLayout } from './keys.ts'
import { SCRIPTS } from './scripts.ts'
import type { Placed, Sizes } from './sizes.ts'
import { chunked } from '../../../../../stores/chunks.ts'

/** Keeps a command below a millisecond. */
const BLOCKS_PER_COMMAND = 500

export function makeCounterReading(connection: Connection, layout: CounterLayout, sizes: Sizes) {
  /** In order. */
  async function readBlocks(placed: readonly Placed[]): Promise<(Buffer | undefined)[]> {
    const names = placed.map(sizes.keyOf)
    const keys = new Map(names.map((name, at) => [name, (placed[at] as Placed).region]))
    // On a Cluster the keys of a command must be in one slot.
    const groups = connection.isCluster ? [...Map.groupBy(keys, ([, region]) => region).values()] : [[...keys]]
    const commands = groups.flatMap((group) =>
      chunked(
        group.map(([key]) => key),
        BLOCKS_PER_COMMAND,
      ).map((args) => ({ name: 'mget', args })),
    )
    const answers = (await connection.send(commands)) as (Buffer | null)[][]
    const blocks = new Map<string, Buffer>()
    commands.forEach(({ args }, at) =>
      args.forEach((key, place) => {
        const block = answers[at]?.[place]
        if (block) blocks.set(key, block)
      }),
    )
    return names.map((name) => blocks.get(name))
  }

  /** The entries that exist. A subject has moved to a higher block if the number of blocks has grown since its key was made. */
  async function readEntries(placed: readonly Placed[]): Promise<Map<Placed, Buffer>> {
    const entries = new Map<Placed, Buffer>()
    let open = placed
    while (open.length > 0) {
      await sizes.learn(open)
      const asked = open.map((placed) => ({ placed, block: sizes.blockNumberOf(placed) }))
      const blocks = await readBlocks(open)
      const missing = asked.filter(({ placed }, at) => {
        const block = blocks[at]
        const entry = block && findEntry(block, placed.oid, sizes.schemaOf(placed.business).entryBytes)
        if (entry !== undefined) entries.set(placed, entry)
        return entry === undefined
      })
      open = await sizes.movedFrom(missing)
    }
    return entries
  }

  async function readWide(placed: Placed): Promise<Counts | undefined> {
    const schema = sizes.schemaOf(placed.business)
    const block = sizes.blockNumberOf(placed)
    const keys = [sizes.keyOf(placed), layout.overflow(placed.region, placed.business)]
    const [answer] = await connection.send([scriptCommand(SCRIPTS.getWide, keys, [placed.oid, schema.entryBytes])])
    const [entry, overflow] = answer as Buffer[]
    if (entry !== undefined) return schema.unpack({ entry, overflow: overflow?.length === 0 ? undefined : overflow })
    return (await sizes.movedFrom([{ placed, block }])).length === 0 ? undefined : readWide(placed)
  }

  return {
    async getMany(subjects: readonly Subject[]): Promise<(Counts | undefined)[]> {
      const placed = subjects.map(sizes.place)
      const entries = await readEntries(placed)
      const wide: Promise<void>[] = []
      const counts = placed.map((each, at): Counts | undefined => {
        const entry = entries.get(each)
        if (entry === undefined) return undefined
        const schema = sizes.schemaOf(each.business)
        const narrow = schema.unpackNarrow(entry)
        if (narrow !== undefined) return narrow
        wide.push(
          readWide(each).then((found) => {
            counts[at] = found
          }),
        )
        return undefined
      })
      await Promise.all(wide)
      return counts
    },
  }
}
