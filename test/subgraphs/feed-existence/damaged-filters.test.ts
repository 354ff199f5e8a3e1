import { crc32 } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { closedAfterEach } from './closed-after-each.ts'
import { HOUR, openSeen, seenConfig, serveSeen, settle, viewerOf, type Opened } from './opened.ts'
import { until } from '../../../harness/until.ts'

const { closing, openWithJob: open } = closedAfterEach()

const UNSEEN = '{ unseen(business: "video", candidates: ["filtered", "staged", "issued", "new"]) { ids } }'
const viewer = viewerOf('7')

describe('a damaged filter', () => {
  const record = { since: 0, rank: 1, version: 1, position: 5, duration: 9, device: '', finished: true, deleted: false }

  async function damage(opened: Opened): Promise<void> {
    const [[stored]] = (await opened.plain.records.listFilters(['7'])) as [[{ month: number; filter: Buffer; version: number }]]
    const filter = Buffer.from(stored.filter)
    filter[filter.length - 1]! ^= 1
    await opened.plain.records.putFilters([{ viewer: '7', month: stored.month, filter, expected: stored.version, expiresAt: 1 }])
  }

  test('is quarantined by its reader and rebuilt from history, and the viewer gets a partial answer meanwhile', async () => {
    const { opened, served } = await open()
    const now = opened.clock.now()
    await served.play('7', ['filtered', 'other'])
    await opened.history.putProgress([{ key: { viewer: '7', business: 1, oid: 'filtered' }, record: { ...record, viewedAt: now } }])
    await opened.history.putProgress([
      { key: { viewer: '7', business: 1, oid: 'earlier' }, record: { ...record, viewedAt: now - 40 * 24 * HOUR } },
    ])
    const job = await served.subgraph.startJob()
    await served.afterHours(job)
    await damage(opened)
    const answer = await served.ask(UNSEEN, viewer)
    expect(answer).toMatchObject({
      data: { unseen: { ids: ['filtered', 'staged', 'issued', 'new'] } },
      errors: [],
      degraded: ['recordStore'],
    })
    await until('the started work has ended', () => served.subgraph.figures().repairs.repaired === 1)
    await settle()
    expect(await served.ask(UNSEEN, viewer)).toEqual({
      data: { unseen: { ids: ['staged', 'issued', 'new'] } },
      errors: [],
      degraded: [],
    })
    expect(await served.unseen('7', ['earlier'])).toEqual(['earlier'])
    const [aside] = await opened.plain.records.listQuarantined(10)
    expect(aside).toMatchObject({ viewer: '7', reason: expect.stringContaining('sum') })
    const stopped = job.stop()
    opened.clock.advance(HOUR)
    await stopped
  })

  test('is rebuilt without glances, and without visits shorter than a play of their business', async () => {
    const opened = openSeen()
    const config = seenConfig()
    const businesses = config.businesses.map((each) => (each.number === 2 ? { ...each, playedFrom: 60_000 } : each))
    const served = serveSeen(opened, { ...config, businesses })
    closing.push(opened.close, served.stop)
    const visit = { ...record, duration: 600_000, finished: false, viewedAt: opened.clock.now() }
    const visitOf = (business: number, oid: string, position: number) => ({
      key: { viewer: '7', business, oid },
      record: { ...visit, position },
    })
    await opened.history.putProgress([
      visitOf(1, 'glance', 1),
      visitOf(1, 'long', 59_999),
      visitOf(2, 'short', 59_999),
      visitOf(2, 'long', 60_000),
    ])
    await served.play('7', ['lost'])
    const job = await served.subgraph.startJob()
    await served.afterHours(job)
    await damage(opened)
    await served.ask(UNSEEN, viewer)
    await until('the started work has ended', () => served.subgraph.figures().repairs.repaired === 1)
    await until('the started work has ended', () => served.subgraph.figures().cache.entries === 0)
    expect(await served.unseen('7', ['glance', 'long', 'new'])).toEqual(['glance', 'new'])
    expect(await served.unseen('7', ['short', 'long', 'new'], 'article')).toEqual(['short', 'new'])
    const stopped = job.stop()
    opened.clock.advance(HOUR)
    await stopped
  })

  test('is rebuilt in the step that quarantines it: neither a crash after it nor a read in between misses anything', async () => {
    const { opened, served } = await open()
    const now = opened.clock.now()
    await served.play('7', ['filtered'])
    await opened.history.putProgress([{ key: { viewer: '7', business: 1, oid: 'filtered' }, record: { ...record, viewedAt: now } }])
    const job = await served.subgraph.startJob()
    await served.afterHours(job)
    await damage(opened)
    // No filter can be written after the quarantine.
    opened.refuse('records.putFilters', 'RECORD_STORE_UNAVAILABLE')
    await served.ask(UNSEEN, viewer)
    await until('the started work has ended', () => served.subgraph.figures().repairs.repaired === 1)
    await settle()
    expect(await served.unseen('7', ['filtered', 'new'])).toEqual(['new'])
    opened.refuse('records.putFilters', undefined)
    const stopped = job.stop()
    opened.clock.advance(HOUR)
    await stopped
  })

  test('of a newer version is left as it is, and not reported by every reader', async () => {
    const { opened, served, job } = await open()
    await served.play('7', ['filtered'])
    await served.afterHours(job)
    const [[stored]] = (await opened.plain.records.listFilters(['7'])) as [[{ month: number; filter: Buffer; version: number }]]
    const filter = Buffer.from(stored.filter)
    filter[0] = 0xf2
    filter.writeUInt32BE(crc32(filter.subarray(5), crc32(filter.subarray(0, 1))), 1)
    await opened.plain.records.putFilters([{ viewer: '7', month: stored.month, filter, expected: stored.version, expiresAt: 1 }])
    opened.clock.advance(2 * HOUR)
    await settle()
    opened.calls.length = 0
    for (let call = 0; call < 5; call++) {
      expect(await served.ask(UNSEEN, viewer)).toMatchObject({
        data: { unseen: { ids: ['filtered', 'staged', 'issued', 'new'] } },
        degraded: ['recordStore'],
      })
    }
    await settle()
    expect(opened.count('records.quarantineFilter')).toBe(0)
    expect(served.errors.length).toBeLessThanOrEqual(2)
    expect((await opened.plain.records.listFilters(['7']))[0]?.[0]?.filter).toEqual(filter)
  })

  test('that cannot be quarantined is read again after a minute', async () => {
    const { opened, served, job } = await open()
    await served.play('7', ['filtered'])
    await served.afterHours(job)
    const [[stored]] = (await opened.plain.records.listFilters(['7'])) as [[{ month: number; filter: Buffer; version: number }]]
    await damage(opened)
    opened.refuse('records.quarantineFilter', 'STORE_FULL')
    const ask = () => served.ask('{ unseen(business: "video", candidates: ["filtered"]) { ids } }', viewer)
    expect(await ask()).toMatchObject({ data: { unseen: { ids: ['filtered'] } }, degraded: ['recordStore'] })
    await until('the started work has ended', () => opened.count('records.quarantineFilter') === 1)
    await settle()
    // An operator restores the filter.
    await opened.plain.records.putFilters([{ viewer: '7', ...stored, expected: stored.version + 1, expiresAt: 1 }])
    opened.clock.advance(59_000)
    expect((await ask()).degraded).toEqual(['recordStore'])
    opened.clock.advance(2_000)
    expect(await ask()).toEqual({ data: { unseen: { ids: [] } }, errors: [], degraded: [] })
  })

  test('is rebuilt by the fold too, with the staged plays in it', async () => {
    const { opened, served, job } = await open()
    const now = opened.clock.now()
    await served.play('7', ['filtered'])
    await opened.history.putProgress([{ key: { viewer: '7', business: 1, oid: 'filtered' }, record: { ...record, viewedAt: now } }])
    await served.afterHours(job)
    await damage(opened)
    await served.play('7', ['staged'])
    await served.afterHours(job)
    expect(job.figures()).toMatchObject({ quarantined: 1, viewersFailed: 0 })
    expect(await served.ask(UNSEEN, viewer)).toEqual({ data: { unseen: { ids: ['issued', 'new'] } }, errors: [], degraded: [] })
  })
})
