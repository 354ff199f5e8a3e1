import { describe, expect, test } from 'vitest'
import { seededRandom } from '../../../core/random.ts'
import { makeExistenceFold } from '../../../subgraphs/feed-existence/index.ts'
import { slotOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import { closedAfterEach } from './closed-after-each.ts'
import { SHAPE, openSeen, seenConfig, serveSeen, settle, viewerOf } from './opened.ts'

const { closing, open, startJob } = closedAfterEach()

describe('questions of operators and viewers', () => {
  test('whyHidden explains why a subject is hidden, to operators only', async () => {
    const { opened, served } = open()
    const ask = (id: string, ...scopes: string[]) =>
      served.ask(
        `query ($id: ID!) { whyHidden(business: "video", id: $id, viewer: "7") { hidden issuedAt stagedAt viewedAt filters { month has records bytes rate } } }`,
        viewerOf('o', ...scopes),
        { id },
      )
    expect((await ask('1')).errors[0]?.code).toBe('FORBIDDEN')
    const now = opened.clock.now()
    await served.subgraph.service.recordIssued(viewerOf('7'), 'video', ['1'], new Set())
    await served.play('7', ['1', '2'], now - 5)
    const record = {
      viewedAt: now - 9,
      since: 0,
      rank: 1,
      version: 1,
      position: 5,
      duration: 9,
      device: '',
      finished: false,
      deleted: false,
    }
    await opened.history.putProgress([{ key: { viewer: '7', business: 1, oid: '1' }, record }])
    expect((await ask('1', 'operator')).data.whyHidden).toEqual({
      hidden: true,
      issuedAt: now,
      stagedAt: now - 5,
      viewedAt: now - 9,
      filters: [],
    })
    const job = await startJob(opened, served)
    await served.afterHours(job)
    const { hidden, stagedAt, filters } = (await ask('2', 'operator')).data.whyHidden
    expect([hidden, stagedAt, filters[0].month, filters[0].has, filters[0].records]).toEqual([true, null, '2026-05', true, 2])
    expect(filters[0].rate).toBeLessThan(0.0026)
    expect((await ask('3', 'operator')).data.whyHidden).toMatchObject({ hidden: false, issuedAt: null, viewedAt: null })
  })

  test('unseen leaves out a month that ended after its filters were loaded', async () => {
    const { opened, served } = open({ start: Date.UTC(2026, 4, 31, 20, 30) })
    const job = await startJob(opened, served)
    await served.play('7', ['february'], Date.UTC(2026, 1, 3))
    await served.play('7', ['march'], Date.UTC(2026, 2, 3))
    await served.afterHours(job)
    opened.clock.advance(Date.UTC(2026, 4, 31, 23, 50) - opened.clock.now())
    expect(await served.unseen('7', ['february', 'march', 'new'])).toEqual(['new'])
    const { loads } = served.subgraph.figures().cache
    opened.clock.advance(20 * 60_000)
    expect(await served.unseen('7', ['february', 'march', 'new'])).toEqual(['february', 'new'])
    expect(served.subgraph.figures().cache.loads).toBe(loads)
  })

  test('whyHidden explains a play that lies ahead, in a month that begins soon', async () => {
    const opened = openSeen({ start: Date.UTC(2026, 5, 1) - 60_000 })
    const served = serveSeen(opened)
    closing.push(opened.close, served.stop)
    const now = opened.clock.now()
    await served.play('7', ['x'], now + 120_000)
    const { fold } = makeExistenceFold(opened.clock, opened.plain, seenConfig(), seededRandom(3))
    await fold(slotOf(now, SHAPE.slots), ['7'])
    expect(await served.unseen('7', ['x'])).toEqual([])
    const { hidden, filters } = await served.subgraph.service.whyHidden(viewerOf('o', 'operator'), 'video', 'x', '7')
    expect([hidden, filters]).toMatchObject([true, [{ month: '2026-06', has: true }]])
  })

  test('viewerSeen is the reason: surely played, probably played, issued, or none', async () => {
    const { opened, served } = open()
    const job = await startJob(opened, served)
    await served.play('7', ['probably'])
    await served.afterHours(job)
    await served.subgraph.service.recordIssued(viewerOf('7'), 'video', ['issued', 'played', 'probably'], new Set())
    await served.play('7', ['played'])
    const ids = ['played', 'none', 'probably', 'issued']
    const video = { __typename: 'Video', business: 'video' }
    const answer = await served.ask(
      `query ($ids: [ID!]!) { subjects(business: "video", ids: $ids) { __typename id business viewerSeen }
        _entities(representations: [{ __typename: "Video", id: "issued" }, { __typename: "Article", id: "issued" }, { __typename: "Video", id: "probably" }]) {
          ... on Video { viewerSeen } ... on Article { viewerSeen } } }`,
      viewerOf('7'),
      { ids },
    )
    expect(answer).toEqual({
      data: {
        subjects: [
          { ...video, id: 'played', viewerSeen: 'PLAYED' },
          { ...video, id: 'none', viewerSeen: null },
          { ...video, id: 'probably', viewerSeen: 'PLAYED_PROBABLY' },
          { ...video, id: 'issued', viewerSeen: 'ISSUED' },
        ],
        _entities: [{ viewerSeen: 'ISSUED' }, { viewerSeen: null }, { viewerSeen: 'PLAYED_PROBABLY' }],
      },
      errors: [],
      degraded: [],
    })
  })

  test('samples measure how often filters hide wrongly, and how many of the dropped subjects history knows', async () => {
    const { opened, served } = open()
    const job = await startJob(opened, served)
    const ids = Array.from({ length: 100 }, (_, id) => String(id))
    await served.play('7', ids)
    await served.afterHours(job)
    const record = { viewedAt: 9, since: 0, rank: 1, version: 1, position: 5, duration: 9, device: '', finished: false, deleted: false }
    await opened.history.putProgress(ids.slice(0, 30).map((oid) => ({ key: { viewer: '7', business: 1, oid }, record })))
    for (let call = 0; call < 100; call++) await served.unseen('7', ids.slice(0, 40))
    await settle()
    const { probes, hits, dropped, unknown } = served.subgraph.figures().samples
    expect(probes).toBe(20_000)
    expect(hits / probes).toBeLessThan(0.01)
    expect(dropped).toBeGreaterThan(0)
    expect(unknown / dropped).toBe(0.25)
  })
})
