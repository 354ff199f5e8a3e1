/** Reports which viewers' marks are unknown, with the clock of each viewer's region. Call it before rows are read from the record store. */
import { scriptCommand, type Command, type Connection } from '../../../../stores/redis/connection.ts'
import { answersOf, groupByRegion, scriptsOf, type RegionBatch } from '../../../../stores/redis/grouping.ts'
import { readVersion } from '../../../../stores/redis/packing.ts'
import type { MarkOwner, ReadStart } from '../hot-store.ts'
import type { MarkLayout } from './keys.ts'
import { SCRIPTS } from './scripts.ts'

/** A script then blocks its server for less than a millisecond. */
const OWNERS_PER_SCRIPT = 200

export function makeReadStarts(connection: Connection, layout: MarkLayout) {
  function beginCommand(batches: readonly RegionBatch<MarkOwner>[]): Command {
    const keys = batches.map(({ region }) => layout.version(region))
    for (const { region, items } of batches) {
      for (const { item } of items) keys.push(layout.marks(region, item.viewer, item.business))
    }
    const counts = batches.map(({ items }) => items.length)
    return scriptCommand(SCRIPTS.beginReads, keys, counts)
  }

  return {
    async beginReads(owners: readonly MarkOwner[]): Promise<ReadStart[]> {
      const batches = groupByRegion(owners, (owner) => owner, layout.regionOf, OWNERS_PER_SCRIPT)
      const scripts = scriptsOf(batches, connection.isCluster, OWNERS_PER_SCRIPT)
      const answers = (await connection.send(scripts.map(beginCommand))) as Buffer[][]
      return answersOf(scripts, answers, (answer) => ({ unknown: answer[0] === 1, asOf: readVersion(answer, 1) }))
    },
  }
}
