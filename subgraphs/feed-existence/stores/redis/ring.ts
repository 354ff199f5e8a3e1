/**
 * The time ring on Redis: listing and counting its parts, and its layouts. Layouts are read once, before the first removal. A layout
 * written later is unknown to this process, so it leaves viewers' places under that layout behind. The worker of that layout finds a viewer
 * with nothing staged there, and removes the place.
 */
import type { ViewerId } from '../../../../core/domain.ts'
import { inOrderOfUse } from '../ring-layouts.ts'
import type { RingLayout, RingShape } from '../hot-store.ts'
import type { Connection } from '../../../../stores/redis/connection.ts'
import type { SeenLayout } from './keys.ts'

const COMMANDS_AT_ONCE = 5_000

export function makeSeenRing(connection: Connection, layout: SeenLayout, shape: RingShape) {
  let known: RingShape[] | undefined

  async function getRingLayouts(): Promise<RingLayout[]> {
    const [reply] = (await connection.send([{ name: 'hgetall', args: [layout.layouts] }])) as [Record<string, Buffer>]
    const layouts = Object.entries(reply).map(([since, value]) => {
      const [slots = 0, shards = 0] = String(value).split(',').map(Number)
      return { slots, shards, since: Number(since) }
    })
    known = [shape, ...layouts]
    return inOrderOfUse(layouts)
  }

  async function knownShapes(): Promise<RingShape[]> {
    if (known === undefined) await getRingLayouts()
    return known ?? [shape]
  }

  return {
    knownShapes,
    getRingLayouts,

    async putRingLayout({ slots, shards, since }: RingLayout): Promise<void> {
      await connection.send([{ name: 'hsetnx', args: [layout.layouts, since, `${slots},${shards}`] }])
      known = [...(await knownShapes()), { slots, shards }]
    },

    async filledShards(slot: number, shards: readonly number[]): Promise<number[]> {
      const found = await connection.send(shards.map((shard) => ({ name: 'exists', args: [layout.ring(slot, shard)] })))
      return shards.filter((_, at) => Number(found[at]) === 1)
    },

    /** Random viewers, so that viewers whose fold fails do not hide the others. */
    async listRing(slot: number, shard: number, limit: number): Promise<ViewerId[]> {
      if (limit <= 0) return []
      const [viewers] = (await connection.send([{ name: 'srandmember', args: [layout.ring(slot, shard), limit] }])) as [Buffer[]]
      return viewers.map(String)
    },

    async countRing(): Promise<number[]> {
      const shapes = await knownShapes()
      const [slots, shards] = [Math.max(...shapes.map(({ slots }) => slots)), Math.max(...shapes.map(({ shards }) => shards))]
      const counts = Array.from({ length: slots }, () => 0)
      for (let from = 0; from < slots * shards; from += COMMANDS_AT_ONCE) {
        const parts = Array.from({ length: Math.min(COMMANDS_AT_ONCE, slots * shards - from) }, (_, at) => from + at)
        const sizes = await connection.send(
          parts.map((part) => ({ name: 'scard', args: [layout.ring(Math.floor(part / shards), part % shards)] })),
        )
        for (const [at, part] of parts.entries()) counts[Math.floor(part / shards)]! += Number(sizes[at])
      }
      return counts
    },
  }
}
