import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { closedAfterEach } from './closed-after-each.ts'
import { HOUR, runOf, serveSeen, settle, untilRounds, viewerOf, type Opened } from './opened.ts'
import { until } from '../../../harness/until.ts'

const { closing, open: openWithoutJob, openWithJob: open } = closedAfterEach()

/** Restores a store. The breakers ask again by the clock. */
async function back(opened: Opened, store: 'hot' | 'log' | 'records'): Promise<void> {
  opened.set(store, false)
  opened.clock.advance(1_000)
  await settle()
}

/** Advances the clock until the log has shown that no play waits in it. */
async function caughtUp(opened: Opened, served: ReturnType<typeof serveSeen>, viewer = viewerOf('7')): Promise<void> {
  await until('answers lack nothing', async () => {
    opened.clock.advance(1_000)
    await settle()
    return (await served.ask('{ unseen(business: "video", candidates: []) { ids } }', viewer)).degraded.length === 0
  })
}

const UNSEEN = '{ unseen(business: "video", candidates: ["filtered", "staged", "issued", "new"]) { ids } }'
const PLAY = 'mutation ($id: ID!) { recordPlayed(input: { business: "video", ids: [$id] }) { recordedCount visible } }'
const ISSUE = 'mutation ($id: ID!) { recordIssued(input: { business: "video", ids: [$id] }) { recorded } }'
const viewer = viewerOf('7')
const DOCUMENT = readFileSync(new URL('../../../docs/api/feed-existence.md', import.meta.url), 'utf8')

async function recorded(options: object = {}) {
  const all = await open(options)
  await all.served.play('7', ['filtered'])
  await all.served.afterHours(all.job)
  await all.served.play('7', ['staged'])
  await all.served.ask(ISSUE, viewer, { id: 'issued' })
  return all
}

describe('with the hot store down', () => {
  test('the filters answer alone, and the answer names the hot store', async () => {
    const { opened, served } = await recorded()
    opened.set('hot', true)
    for (let call = 0; call < 2; call++) {
      const answer = await served.ask(UNSEEN, viewer)
      expect(answer).toEqual({ data: { unseen: { ids: ['staged', 'issued', 'new'] } }, errors: [], degraded: ['hotStore'] })
    }
    await back(opened, 'hot')
    await caughtUp(opened, served)
    expect(await served.ask(UNSEEN, viewer)).toEqual({ data: { unseen: { ids: ['new'] } }, errors: [], degraded: [] })
  })

  test('a play is durable in the log, and hidden once the hot store is back', async () => {
    const { opened, served, job } = await recorded()
    opened.set('hot', true)
    expect(await served.ask(PLAY, viewer, { id: 'new' })).toEqual({
      data: { recordPlayed: { recordedCount: 1, visible: false } },
      errors: [],
      degraded: ['hotStore'],
    })
    await settle()
    await back(opened, 'hot')
    opened.clock.advance(10_000)
    await until('the started work has ended', () => job.figures().staged === 1)
    expect((await served.ask(UNSEEN, viewer)).data.unseen.ids).toEqual([])
    expect(served.subgraph.figures().existence).toMatchObject({ logged: 1 })
  })

  test('a play is hidden by the process that took it, from its answer on and before it is staged from the log', async () => {
    const { opened, served, job } = await recorded()
    opened.set('hot', true)
    await served.ask(PLAY, viewer, { id: 'new' })
    const without = { data: { unseen: { ids: ['staged', 'issued'] } }, errors: [], degraded: ['hotStore'] }
    expect(await served.ask(UNSEEN, viewer)).toEqual(without)
    expect(await served.reasons('7', ['new'])).toEqual(['PLAYED'])
    expect(served.subgraph.figures().staging.waiting).toBe(1)
    // Staging is held.
    let letGo = (): void => {}
    const held = new Promise<void>((resolve) => (letGo = resolve))
    opened.before('hot.stagePlays', () => held)
    opened.set('hot', false)
    opened.clock.advance(1_000)
    await until('it is back', async () => (await served.ask(UNSEEN, viewer)).data.unseen.ids.length === 0)
    expect(job.figures().staged).toBe(0)
    expect(served.subgraph.figures().staging.waiting).toBe(1)
    opened.before('hot.stagePlays', undefined)
    letGo()
    await until('it is staged', () => {
      opened.clock.advance(1_000)
      return served.subgraph.figures().staging.waiting === 0
    })
    expect((await served.ask(UNSEEN, viewer)).data.unseen.ids).toEqual([])
    expect((await opened.plain.hot.getSeen('7', 1)).staged.map(({ oid }) => oid).sort()).toEqual(['new', 'staged'])
  })

  test('and back, answers of all processes name it until the log has been staged', async () => {
    const { opened, served } = openWithoutJob()
    const other = serveSeen(opened)
    closing.push(other.stop)
    const nothing = '{ unseen(business: "video", candidates: ["new"]) { ids } }'
    await served.play('7', ['staged'])
    opened.set('hot', true)
    expect((await other.ask(nothing, viewer)).degraded).toEqual(['hotStore'])
    await served.ask(PLAY, viewer, { id: 'new' })
    // The process that took the play dies, and only the log has it.
    await served.stop()
    await back(opened, 'hot')
    for (let second = 0; second < 10; second++) {
      expect(await other.ask(nothing, viewer)).toEqual({ data: { unseen: { ids: ['new'] } }, errors: [], degraded: ['hotStore'] })
      opened.clock.advance(1_000)
      await settle()
    }
    const job = await other.subgraph.startJob()
    await caughtUp(opened, other)
    expect((await other.ask(nothing, viewer)).data.unseen.ids).toEqual([])
    const stopped = job.stop()
    opened.clock.advance(HOUR)
    await stopped
  })

  test('before a process started, its answers name the hot store while the log is down or has plays left', async () => {
    const { opened } = openWithoutJob()
    await opened.plain.log.appendPlays([{ viewer: '7', business: 1, oid: 'new', playedAt: opened.clock.now() }])
    const later = serveSeen(opened)
    closing.push(later.stop)
    // The log is down from the first answer on.
    opened.set('log', true)
    await later.subgraph.start()
    const nothing = '{ unseen(business: "video", candidates: ["new"]) { ids } }'
    const lacking = { data: { unseen: { ids: ['new'] } }, errors: [], degraded: ['hotStore'] }
    for (let second = 0; second < 5; second++) {
      expect(await later.ask(nothing, viewer)).toEqual(lacking)
      opened.clock.advance(1_000)
      await settle()
    }
    await back(opened, 'log')
    expect(await later.ask(nothing, viewer)).toEqual(lacking)
    const job = await later.subgraph.startJob()
    await caughtUp(opened, later)
    expect((await later.ask(nothing, viewer)).data.unseen.ids).toEqual([])
    const stopped = job.stop()
    opened.clock.advance(HOUR)
    await stopped
  })

  test('an issued subject is not recorded, and the answer says so', async () => {
    const { opened, served } = await recorded()
    opened.set('hot', true)
    expect(await served.ask(ISSUE, viewer, { id: 'new' })).toEqual({
      data: { recordIssued: { recorded: false } },
      errors: [],
      degraded: ['hotStore'],
    })
    expect(served.subgraph.figures()).toMatchObject({ existence: { issuedLost: 1 }, outages: { hotStore: { isDown: true, count: 1 } } })
  })

  test('a viewer’s filters are read once, and again when the store is back', async () => {
    const { opened, served } = await recorded()
    opened.set('hot', true)
    opened.calls.length = 0
    for (let call = 0; call < 3; call++) await served.ask(UNSEEN, viewer)
    expect(opened.count('records.getFilters')).toBe(1)
    await back(opened, 'hot')
    await served.ask(UNSEEN, viewer)
    expect(opened.count('records.getFilters')).toBe(2)
  })

  test('or full, a play goes to the log', async () => {
    const { opened, served } = await recorded()
    opened.refuse('hot.stagePlays', 'STORE_FULL')
    expect(await served.ask(PLAY, viewer, { id: 'new' })).toEqual({
      data: { recordPlayed: { recordedCount: 1, visible: false } },
      errors: [],
      degraded: ['hotStore'],
    })
    opened.refuse('hot.stagePlays', undefined)
  })

  test.each(['LOG_UNAVAILABLE', 'STORE_FULL'] as const)(
    'and the log too (%s), the call fails with a code that the document names',
    async (code) => {
      const { opened, served } = openWithoutJob()
      opened.set('hot', true)
      opened.refuse('log.appendPlays', code)
      const { data, errors } = await served.ask(PLAY, viewer, { id: 'new' })
      expect([data, errors]).toMatchObject([{ recordPlayed: null }, [{ code }]])
      expect(DOCUMENT.includes(`\`${code}\``)).toBe(true)
    },
  )
})

describe('with the record store down', () => {
  test('issued, staged and cached subjects are hidden, and the answer names the record store if it is incomplete', async () => {
    const { opened, served, job } = await recorded()
    await served.ask(UNSEEN, viewer)
    opened.set('records', true)
    // The cached filters are up to date, so the answer is complete.
    expect(await served.ask(UNSEEN, viewer)).toEqual({ data: { unseen: { ids: ['new'] } }, errors: [], degraded: [] })
    // Nothing of another viewer is cached.
    await served.play('8', ['staged'])
    expect(await served.ask(UNSEEN, viewerOf('8'))).toEqual({
      data: { unseen: { ids: ['filtered', 'issued', 'new'] } },
      errors: [],
      degraded: ['recordStore'],
    })
    await back(opened, 'records')
    await served.afterHours(job)
    opened.set('records', true)
    // After another fold, the last known filters still answer.
    expect(await served.ask(UNSEEN, viewer)).toEqual({
      data: { unseen: { ids: ['staged', 'new'] } },
      errors: [],
      degraded: ['recordStore'],
    })
    await back(opened, 'records')
    expect(await served.ask(UNSEEN, viewer)).toEqual({ data: { unseen: { ids: ['new'] } }, errors: [], degraded: [] })
  })

  test('the job leaves everything staged, and folds it when the store is back', async () => {
    const { opened, served, job } = await recorded()
    opened.set('records', true)
    opened.clock.advance(HOUR)
    await untilRounds('a round has failed', opened, () => job.figures().shardsFailed > 0)
    expect((await opened.plain.hot.getSeen('7', 1)).staged).toHaveLength(1)
    await back(opened, 'records')
    await runOf(opened, job, Math.floor(opened.clock.now() / HOUR))
    expect((await opened.plain.hot.getSeen('7', 1)).staged).toHaveLength(0)
    expect(await served.unseen('7', ['filtered', 'staged', 'new'])).toEqual(['new'])
  })

  test('plays of a viewer above the staging limit are still recorded', async () => {
    const { opened, served } = await recorded({ stagedMax: 1 })
    opened.set('records', true)
    for (const id of ['a', 'b', 'c'])
      expect((await served.ask(PLAY, viewer, { id })).data).toEqual({ recordPlayed: { recordedCount: 1, visible: true } })
    await settle()
    await back(opened, 'records')
    expect(await served.unseen('7', ['a', 'b', 'c', 'new'])).toEqual(['new'])
  })

  test('a viewer above the hourly limit is refused until a fold is possible, and loses nothing', async () => {
    const { opened, served, job } = await open({ stagedMax: 3, stagedHardMax: 3 })
    opened.set('records', true)
    const played = async (id: string) => (await served.ask(PLAY, viewer, { id })).data.recordPlayed.recordedCount as number
    for (const id of ['a', 'b', 'c']) expect(await played(id)).toBe(1)
    await expect(served.play('7', ['d'])).rejects.toMatchObject({
      code: 'PLAYS_TOO_MANY',
      message: expect.stringContaining('3 subjects or more in this hour'),
    })
    expect(await served.play('8', ['d'])).toMatchObject({ recordedCount: 1 })
    // A play acknowledged elsewhere is still staged.
    await opened.plain.log.appendPlays([{ viewer: '7', business: 1, oid: 'logged', playedAt: opened.clock.now() }])
    opened.clock.advance(1_000)
    await until('the started work has ended', () => job.figures().staged === 1)
    await back(opened, 'records')
    await until('the started work has ended', () => !served.subgraph.figures().outages.recordStore.isDown)
    await until('an early fold has made room', async () => (await played('d')) === 1)
    expect(await served.unseen('7', ['a', 'b', 'c', 'd', 'logged', 'new'])).toEqual(['new'])
  })
})

describe('an early fold', () => {
  test.each(['records', 'hot'] as const)('is left to the job while %s is known to be down', async (store) => {
    const { opened, served } = await open({ stagedMax: 1 })
    const release = Promise.withResolvers<void>()
    opened.before('hot.readStaged', () => release.promise)
    await served.play('8', ['a', 'b'])
    await until('the started work has ended', () => opened.count('hot.readStaged') === 1)
    await served.play('7', ['a', 'b'])
    expect(served.subgraph.figures().staging.earlyWaiting).toBe(1)
    opened.set(store, true)
    await served.ask('{ unseen(business: "video", candidates: ["a"]) { ids } }', viewerOf('9'))
    await until('the started work has ended', () => served.subgraph.figures().outages[store === 'hot' ? 'hotStore' : 'recordStore'].isDown)
    // The store is back, and the service has not noticed it yet.
    opened.set(store, false)
    release.resolve()
    await until('the started work has ended', () => served.subgraph.figures().staging.earlyFolds === 1 && served.errors.some(isLeft))
    expect(opened.count('hot.readStaged')).toBe(1)
    expect((await opened.plain.hot.getSeen('7', 1)).staged).toHaveLength(2)
  })

  const isLeft = (error: unknown): boolean => String(error).includes('left to the job')
})
