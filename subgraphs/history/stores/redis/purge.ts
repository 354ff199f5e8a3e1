/**
 * Retention. Tombstones are found by their index; other records by a scan of all contents (`walking.ts`).
 *
 * There is usually little to find: timelines are trimmed to their cap, and the data of idle viewers expires in Redis.
 */
import type { BusinessNumber, ViewerId } from '../../../../core/domain.ts'
import { scriptCommand } from '../../../../stores/redis/connection.ts'
import type { Argument, Command, Connection } from '../../../../stores/redis/connection.ts'
import { packOid, unpackMember } from './keys.ts'
import type { Layout } from './keys.ts'
import { SCRIPTS } from './scripts.ts'
import { makeWalk } from '../../../../stores/redis/walking.ts'
import { packGroup } from '../../../../stores/redis/packing.ts'

/** Index entries read at a time. */
const CHUNK = 500
const SCRIPTS_AT_ONCE = 100

type Found = { region: number; viewer: ViewerId; business: BusinessNumber }

export function makePurging(connection: Connection, layout: Layout) {
  const walk = makeWalk(connection)

  async function purgeMany(
    groups: readonly { found: Found; oids: Argument[] }[],
    writtenBefore: number,
    limit: number,
  ): Promise<{ gone: number; dropped: number }> {
    const command = ({ found, oids }: { found: Found; oids: Argument[] }): Command => {
      const { region, viewer, business } = found
      const keys = [
        layout.dirty(region),
        layout.tombstones(region),
        layout.contents(region, viewer, business),
        layout.timeline(region, viewer, business),
      ]
      return scriptCommand(SCRIPTS.purgeRecords, keys, [writtenBefore, limit, packGroup(viewer, business), ...oids])
    }
    const answers = (await connection.send(groups.map(command))) as [number, number][]
    return { gone: sum(answers.map(([gone]) => gone)), dropped: sum(answers.map(([, dropped]) => dropped)) }
  }

  async function purgeTombstones(region: number, writtenBefore: number, limit: number): Promise<number> {
    let gone = 0
    // Dirty tombstones stay, and are skipped.
    for (let from = 0; gone < limit;) {
      const count = Math.min(CHUNK, limit - gone)
      const [answer] = await connection.send([
        { name: 'zrangebyscore', args: [layout.tombstones(region), '-inf', `(${writtenBefore}`, 'LIMIT', from, count] },
      ])
      const members = (answer as Buffer[]).map(unpackMember)
      const groups = members.map(({ viewer, business, oid }) => ({ found: { region, viewer, business }, oids: [packOid(oid)] }))
      const result = await purgeMany(groups, writtenBefore, 1)
      gone += result.gone
      if (members.length < count) break
      from += members.length - result.dropped
    }
    return gone
  }

  /**
   * Purges some of the records under these keys, at most `limit`, with an equal share for each key. Records beyond the share are found
   * later.
   */
  async function purgeFound(names: readonly string[], writtenBefore: number, limit: number): Promise<number> {
    const founds = names.flatMap((name) => layout.contentsOf(name) ?? [])
    let gone = 0
    for (let from = 0; from < founds.length && gone < limit;) {
      const some = founds.slice(from, from + Math.min(SCRIPTS_AT_ONCE, limit - gone))
      const each = Math.floor((limit - gone) / some.length)
      const groups = some.map((found) => ({ found, oids: [] }))
      gone += (await purgeMany(groups, writtenBefore, each)).gone
      from += some.length
    }
    return gone
  }

  return {
    async purgeExpired(writtenBefore: number, limit: number): Promise<number> {
      let gone = 0
      for (let region = 0; region < layout.regions && gone < limit; region++)
        gone += await purgeTombstones(region, writtenBefore, limit - gone)
      if (gone >= limit) return gone
      return gone + (await walk(layout.contentsPattern, limit - gone, (names, room) => purgeFound(names, writtenBefore, room)))
    },
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
