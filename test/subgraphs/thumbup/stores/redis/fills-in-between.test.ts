/** Reads of marks are several commands. Here another process fills the viewer's marks between two of them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { redisIsHere, startRedis, type TestServers } from '../../../../../harness/deployment/redis-servers.ts'
import { connect, type Connection } from '../../../../../stores/redis/connection.ts'
import type { MarkStore } from '../../../../../subgraphs/thumbup/stores/hot-store.ts'
import { openRedisMarkStore } from '../../../../../subgraphs/thumbup/stores/redis/hot-store.ts'
import { makeMarkLayout } from '../../../../../subgraphs/thumbup/stores/redis/keys.ts'
import { makeMarkLists } from '../../../../../subgraphs/thumbup/stores/redis/lists.ts'
import { makeMarkReading } from '../../../../../subgraphs/thumbup/stores/redis/read.ts'
import { fill } from '../../../../contracts/thumbup/marks.ts'
import { keyOf } from '../../../../contracts/reports.ts'

const regions = 4
const layout = makeMarkLayout('tm', regions)
const LIKED = { oid: '7', mark: 'LIKE', markedAt: 1_790_000_000_000, version: 1_024 } as const

describe.skipIf(!(await redisIsHere()))('a fill of another process between the commands of a read', () => {
  let servers: TestServers
  let other: MarkStore
  let connection: Connection
  let viewers = 0
  beforeAll(async () => {
    servers = await startRedis()
    other = openRedisMarkStore({ urls: servers.urls, regions })
    connection = connect({ urls: servers.urls })
    await other.check()
  })
  afterAll(async () => {
    connection.close()
    await other.close()
    await servers.stop()
  })

  /** Sends one command at a time, and calls `act` after `count` commands. */
  function withActAfter(count: number, act: () => Promise<void>): Connection {
    let sent = 0
    const sendInOrder = async (units: Parameters<Connection['sendInOrder']>[0]): Promise<unknown[][]> => {
      const answers: unknown[][] = []
      for (const unit of units) {
        const ofUnit: unknown[] = []
        for (const command of unit) {
          ofUnit.push(...(await connection.send([command])))
          sent += 1
          if (sent === count) await act()
        }
        answers.push(ofUnit)
      }
      return answers
    }
    return { ...connection, sendInOrder }
  }

  for (const after of [1, 2, 3, 4]) {
    it(`after command ${after} of a lookup: the like is found, or may be in the record store`, async () => {
      const viewer = String(++viewers)
      const reading = makeMarkReading(
        withActAfter(after, () => fill(other, viewer, [LIKED])),
        layout,
      )
      const [found] = await reading.getMarkMany([keyOf(viewer, '7')])
      if (found?.mark === 'NONE') expect(found.older).toBe('unknown')
      else expect(found?.mark).toBe('LIKE')
      expect((await reading.getMarkMany([keyOf(viewer, '7')]))[0]?.mark).toBe('LIKE')
    })
  }

  for (const after of [1, 2, 3]) {
    it(`after command ${after} of a page: the page has the like, or says that likes may be missing`, async () => {
      const viewer = String(++viewers)
      const lists = makeMarkLists(
        withActAfter(after, () => fill(other, viewer, [LIKED])),
        layout,
      )
      expect((await lists.listLikes(viewer, 1, undefined, 10)).floor).toBeNull()
      const entries = [{ id: '7', markedAt: LIKED.markedAt }]
      expect(await lists.listLikes(viewer, 1, undefined, 10)).toEqual({ entries, floor: undefined })
    })
  }

  it('between two rounds of a page: the page still says that likes may be missing', async () => {
    const viewer = String(++viewers)
    const writes = Array.from({ length: 40 }, (_, at) => ({
      viewer,
      business: 1,
      oid: String(100 + at),
      mark: 'LIKE' as const,
      markedAt: 5,
      blind: true as const,
    }))
    await other.putMarks(writes, { now: 5, cap: 100 })
    await other.putMarks([{ viewer, business: 1, oid: '99', mark: 'LIKE', markedAt: 6, blind: true }], { now: 6, cap: 100 })
    const lists = makeMarkLists(
      withActAfter(3, () => fill(other, viewer, [LIKED])),
      layout,
    )
    const page = await lists.listLikes(viewer, 1, { markedAt: 5, id: '139' }, 2)
    expect(page.floor).toBeNull()
  })
})
