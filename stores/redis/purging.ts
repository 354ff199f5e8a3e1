/**
 * Retention. Tombstones are found by their index; other records by walking all contents with SCAN, a node after the other.
 * The walk goes round: it begins where the last call ended, so that calls with a small limit still reach everything, and
 * "nothing left" is said only after a whole round that found nothing.
 *
 * Mostly there is little to find: timelines are trimmed to their cap, and what idle viewers leave expires by itself.
 */
import type { Redis } from 'ioredis'
import type { BusinessNumber, ViewerId } from '../../core/domain.ts'
import { scriptCommand } from './connection.ts'
import type { Argument, Command, Connection } from './connection.ts'
import { packGroup, packOid, unpackMember } from './layout.ts'
import type { Layout } from './layout.ts'
import { SCRIPTS } from './scripts.ts'

/** Keys a SCAN looks at, and index entries read at a time. */
const CHUNK = 500
const SCRIPTS_AT_ONCE = 100

type Found = { region: number; viewer: ViewerId; business: BusinessNumber }

export function makePurging(connection: Connection, layout: Layout) {
  /** Where the walk goes on. A node is known by its address: if it is gone, the walk begins with the first. */
  let position = { node: '', cursor: '0' }

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
    // Dirty ones stay where they are, and are stepped over.
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

  /** Walks one node until `limit` records went or its end; true at the end. */
  async function walk(node: Redis, writtenBefore: number, limit: number): Promise<{ gone: number; ended: boolean }> {
    let gone = 0
    for (;;) {
      const [cursor, names] = await connection.insist(() => node.scan(position.cursor, 'MATCH', layout.contentsPattern, 'COUNT', CHUNK))
      const founds = names.flatMap((name) => layout.contentsOf(name) ?? [])
      for (let from = 0; from < founds.length;) {
        if (gone >= limit) return { gone, ended: false }
        // Each may give its part of what is left; what it has beyond is found the next time round.
        const some = founds.slice(from, from + Math.min(SCRIPTS_AT_ONCE, limit - gone))
        const each = Math.floor((limit - gone) / some.length)
        const groups = some.map((found) => ({ found, oids: [] }))
        gone += (await purgeMany(groups, writtenBefore, each)).gone
        from += some.length
      }
      position.cursor = cursor
      if (cursor === '0') return { gone, ended: true }
      if (gone >= limit) return { gone, ended: false }
    }
  }

  return {
    async purgeExpired(writtenBefore: number, limit: number): Promise<number> {
      let gone = 0
      for (let region = 0; region < layout.regions && gone < limit; region++)
        gone += await purgeTombstones(region, writtenBefore, limit - gone)
      const nodes = (await connection.masters()).toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
      let at = nodes.findIndex((node) => nameOf(node) === position.node)
      if (at < 0) {
        at = 0
        position = { node: '', cursor: '0' }
      }
      // One step more than there are nodes: the first is entered where the last call left it, and its beginning comes last.
      const steps = nodes.length + (position.cursor === '0' ? 0 : 1)
      for (let step = 0; step < steps && gone < limit; step++) {
        const node = nodes[(at + step) % nodes.length] as Redis
        position.node = nameOf(node)
        const walked = await walk(node, writtenBefore, limit - gone)
        gone += walked.gone
        if (walked.ended) position = { node: nameOf(nodes[(at + step + 1) % nodes.length] as Redis), cursor: '0' }
      }
      return gone
    },
  }
}

function nameOf(node: Redis): string {
  return `${node.options.host}:${node.options.port}`
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
