/**
 * The contract of the hot store of counters, run unchanged by every adapter:
 *
 *     counterStoreContract('one Redis', async () => ({ store, regions, another, reopen, dispose }))
 *
 * `open` runs once per suite, with the schemas of `counter-samples.ts`. Every test has its own subjects.
 */
import { expect, it } from 'vitest'
import { regionOf } from '../../../core/regions.ts'
import { REMEMBER_MS, type CounterStore } from '../../../subgraphs/feed/stores/counter-store.ts'
import { describeStore, type OpenedStore } from '../opened-store.ts'
import { later, numbered } from '../reports.ts'
import { COUNTER_REGIONS, ZERO, eventOf, freshSubject, type CounterStoreSubject } from './counter-samples.ts'
import { counterSequencesContract } from './counter-store-sequences.ts'

const base = (subject = freshSubject(), counts = ZERO, version = 0) => ({ subject, counts, version })

export function counterStoreContract(name: string, open: () => Promise<OpenedStore<CounterStore>>): void {
  describeStore(`counter store contract: ${name}`, open, (subject) => {
    eventsContract(subject)
    dirtyContract(subject)
    counterSequencesContract(subject)

    it('an available store passes its check, and empty calls return nothing', async () => {
      const store = subject.store()
      await store.check()
      await store.fillTotals([])
      await store.clearDirty([])
      expect(await store.adjust([], later())).toEqual([])
      expect(await store.getMany([])).toEqual([])
      expect(await store.readDirty([])).toEqual([])
    })
  })
}

function eventsContract({ store, another, reopen }: CounterStoreSubject): void {
  it('an event of an unknown subject needs its base, and counts once it is filled', async () => {
    const post = freshSubject()
    const event = eventOf(post, 2)
    expect(await store().adjust([event], later())).toEqual(['needs-base'])
    expect(await store().getMany([post])).toEqual([undefined])
    await store().fillTotals([base(post, { ...ZERO, read: 40 })])
    expect(await store().adjust([event], later())).toEqual(['counted'])
    expect(await store().getMany([post])).toEqual([{ ...ZERO, read: 42 }])
  })

  it('a late fill does not change the totals of a known subject', async () => {
    const post = freshSubject(true)
    await store().fillTotals([base(post, { ...ZERO, like: 5 })])
    await store().adjust([eventOf(post, 1, 'like')], later())
    await store().fillTotals([base(post, { ...ZERO, like: 1_000 })])
    expect(await store().getMany([post])).toEqual([{ ...ZERO, like: 6 }])
  })

  it('a repeated event changes nothing, in one call, in another process and after a restart', async () => {
    const post = freshSubject()
    await store().fillTotals([base(post)])
    const now = later()
    const event = eventOf(post, 1)
    expect(await store().adjust([event, event], now)).toEqual(['counted', 'repeated'])
    const other = await another()
    expect(await other.adjust([event], now + 1)).toEqual(['repeated'])
    await other.close()
    expect(await (await reopen()).adjust([event], now + REMEMBER_MS)).toEqual(['repeated'])
    expect(await store().getMany([post])).toEqual([{ ...ZERO, read: 1 }])
  })

  it('an event is remembered across the end of a period, also by a process whose clock is behind', async () => {
    const post = freshSubject()
    await store().fillTotals([base(post)])
    const end = Math.ceil(later() / REMEMBER_MS) * REMEMBER_MS
    const [before, after] = [eventOf(post, 1), eventOf(post, 1)]
    expect(await store().adjust([before], end - 1)).toEqual(['counted'])
    expect(await store().adjust([before, after], end + 1)).toEqual(['repeated', 'counted'])
    expect(await store().adjust([after], end - 1)).toEqual(['repeated'])
  })

  it('one id for another counter or another subject is another event', async () => {
    const [one, other] = [freshSubject(), freshSubject(true)]
    await store().fillTotals([base(one), base(other)])
    const events = [eventOf(one, 1, 'read', 'same'), eventOf(one, 1, 'like', 'same'), eventOf(other, 1, 'read', 'same')]
    expect(await store().adjust(events, later())).toEqual(['counted', 'counted', 'counted'])
  })

  it('a total never goes below 0: the event is invalid, is not remembered, and the others of the call count', async () => {
    const post = freshSubject()
    await store().fillTotals([base(post, { ...ZERO, comment: 2 })])
    const tooMuch = eventOf(post, -3, 'comment')
    const events = [eventOf(post, -2, 'comment'), tooMuch, eventOf(post, 7, 'read')]
    expect(await store().adjust(events, later())).toEqual(['counted', 'invalid', 'counted'])
    expect(await store().getMany([post])).toEqual([{ ...ZERO, read: 7 }])
    await store().adjust([eventOf(post, 5, 'comment')], later())
    expect(await store().adjust([tooMuch], later())).toEqual(['counted'])
    expect(await store().getMany([post])).toEqual([{ ...ZERO, comment: 2, read: 7 }])
  })

  it('a counter passes the end of its bits and comes back, and its neighbours keep their values', async () => {
    const post = freshSubject()
    await store().fillTotals([base(post, { repost: 6, comment: 30, like: 2 ** 24 - 2, read: 2 ** 32 - 2 })])
    for (const [counter, delta] of [
      ['repost', 1],
      ['comment', 900],
      ['like', 1],
      ['read', 2 ** 31 - 1],
      ['like', 5],
      ['repost', -2],
    ] as const)
      expect(await store().adjust([eventOf(post, delta, counter)], later())).toEqual(['counted'])
    expect(await store().getMany([post])).toEqual([{ repost: 5, comment: 930, like: 2 ** 24 + 4, read: 2 ** 32 - 3 + 2 ** 31 }])
    for (const [counter, delta] of [
      ['comment', -930],
      ['like', -4],
      ['read', -(2 ** 31 - 1)],
    ] as const)
      expect(await store().adjust([eventOf(post, delta, counter)], later())).toEqual(['counted'])
    expect(await store().getMany([post])).toEqual([{ repost: 5, comment: 0, like: 2 ** 24, read: 2 ** 32 - 2 }])
    expect(await store().adjust([eventOf(post, -(2 ** 24 + 1), 'like')], later())).toEqual(['invalid'])
    expect(await store().adjust([eventOf(post, -6, 'repost')], later())).toEqual(['invalid'])
    expect(await store().getMany([post])).toEqual([{ repost: 5, comment: 0, like: 2 ** 24, read: 2 ** 32 - 2 }])
  })

  it('a total above 2^53 - 1 is refused, and a base with saturated counters is kept exactly', async () => {
    const video = { business: 9, oid: freshSubject().oid }
    await store().fillTotals([base(video, { view: Number.MAX_SAFE_INTEGER - 3 })])
    expect(await store().adjust([eventOf(video, 4, 'view')], later())).toEqual(['invalid'])
    expect(await store().adjust([eventOf(video, 3, 'view')], later())).toEqual(['counted'])
    expect(await store().getMany([video])).toEqual([{ view: Number.MAX_SAFE_INTEGER }])
  })

  it('two businesses and thousands of subjects in one call keep their totals apart', async () => {
    const posts = numbered(2_000).map((_, at) => freshSubject(at % 7 === 0))
    const videos = posts.map(({ oid }) => ({ business: 9, oid }))
    await store().fillTotals([...posts.map((post) => base(post)), ...videos.map((video) => base(video, { view: 1 }))])
    const events = [...posts.map((post, at) => eventOf(post, at, 'read')), ...videos.map((video, at) => eventOf(video, at, 'view'))]
    expect(new Set(await store().adjust(events, later()))).toEqual(new Set(['counted']))
    const [counts, views] = [await store().getMany(posts), await store().getMany(videos)]
    expect(counts.map((each) => each?.['read'])).toEqual(posts.map((_, at) => at))
    expect(views.map((each) => each?.['view'])).toEqual(posts.map((_, at) => at + 1))
    const other = await another()
    expect(await other.getMany(posts)).toEqual(counts)
    expect(
      await other.adjust(
        posts.map((post) => eventOf(post, 1)),
        later(),
      ),
    ).toEqual(posts.map(() => 'counted'))
    await other.close()
  })

  it('concurrent events of two processes on new and growing subjects are all counted once', async () => {
    const other = await another()
    const posts = numbered(600).map(() => freshSubject())
    const events = posts.flatMap((post) => [eventOf(post, 1), eventOf(post, 2, 'comment')])
    const outcomes = await Promise.all(
      [store(), other].map(async (each) => {
        const counted: string[] = []
        for (let at = 0; at < posts.length; at += 50) {
          await each.fillTotals(posts.slice(at, at + 50).map((post) => base(post)))
          counted.push(...(await each.adjust(events.slice(2 * at, 2 * at + 100), later())))
        }
        return counted
      }),
    )
    await other.close()
    events.forEach((_, at) =>
      expect(outcomes.map((each) => each[at] ?? '').toSorted((a, b) => a.localeCompare(b))).toEqual(['counted', 'repeated']),
    )
    expect(await store().getMany(posts)).toEqual(posts.map(() => ({ ...ZERO, read: 1, comment: 2 })))
  })

  it('reads beside fills of the same process find every known subject, dirty or not, with narrow and saturated counters', async () => {
    const narrow = numbered(200).map(() => freshSubject())
    const saturated = numbered(40).map(() => freshSubject())
    const posts = [...narrow, ...saturated]
    await store().fillTotals([...narrow.map((post) => base(post)), ...saturated.map((post) => base(post, { ...ZERO, comment: 1_000 }))])
    let isFilling = true
    async function fill(): Promise<void> {
      for (let round = 0; round < 60; round++) await store().fillTotals(numbered(200).map(() => base()))
      isFilling = false
    }
    const filling = fill()
    const lost = { read: 0, dirty: 0 }
    while (isFilling) {
      await store().adjust(
        posts.map((post) => eventOf(post, 1)),
        later(),
      )
      lost.read += (await store().getMany(posts)).filter((counts) => counts === undefined).length
      lost.dirty += (await store().readDirty(posts)).filter((dirty) => dirty?.counts === undefined).length
    }
    await filling
    expect(lost).toEqual({ read: 0, dirty: 0 })
  })
}

function dirtyContract({ store, regions }: CounterStoreSubject): void {
  const allRegions = Array.from({ length: COUNTER_REGIONS }, (_, region) => region)

  it('a counted subject is dirty with its newest totals until it is cleared at its version', async () => {
    const post = freshSubject()
    await store().fillTotals([base(post)])
    expect(await store().readDirty([post])).toEqual([undefined])
    await store().adjust([eventOf(post, 3)], later())
    const [first] = await store().readDirty([post])
    expect(first?.counts).toEqual({ ...ZERO, read: 3 })
    await store().adjust([eventOf(post, 4)], later())
    await store().clearDirty([{ subject: post, version: first?.version as number }])
    const [second] = await store().readDirty([post])
    expect(second?.counts).toEqual({ ...ZERO, read: 7 })
    expect(second?.version).toBeGreaterThan(first?.version as number)
    await store().clearDirty([{ subject: post, version: second?.version as number }])
    expect(await store().readDirty([post])).toEqual([undefined])
    expect(await store().getMany([post])).toEqual([{ ...ZERO, read: 7 }])
  })

  it('versions are above that of the base', async () => {
    const post = freshSubject()
    const version = (later() + 3_600_000) * 1_024
    await store().fillTotals([base(post, ZERO, version)])
    await store().adjust([eventOf(post, 1)], later())
    expect((await store().readDirty([post]))[0]?.version).toBeGreaterThan(version)
  })

  it('repeated and invalid events make nothing dirty', async () => {
    const post = freshSubject()
    await store().fillTotals([base(post)])
    const event = eventOf(post, 1)
    await store().adjust([event], later())
    await store().clearDirty([{ subject: post, version: (await store().readDirty([post]))[0]?.version as number }])
    await store().adjust([event, eventOf(post, -2)], later())
    expect(await store().readDirty([post])).toEqual([undefined])
  })

  it('lists the dirty subjects of the asked regions by age, up to the moment and the limit, and counts them', async () => {
    const posts = numbered(40).map((_, at) => freshSubject(at % 5 === 0))
    await store().fillTotals(posts.map((post) => base(post)))
    const before = await store().countDirty()
    const since = later(1_000)
    await store().adjust(
      posts.slice(0, 20).map((post) => eventOf(post, 1)),
      since,
    )
    await store().adjust(
      posts.slice(20).map((post) => eventOf(post, 1)),
      since + 5_000,
    )
    await store().adjust([eventOf(posts[0] as (typeof posts)[0], 1)], since + 5_000)
    expect(await store().countDirty()).toBe(before + 40)
    const ours = new Set(posts.map(({ oid }) => oid))
    const listed = async (some: readonly number[], at: number, limit = 100_000) =>
      (await store().listDirty(some, at, limit)).filter(({ oid }) => ours.has(oid))
    expect(await listed(allRegions, since - 1)).toEqual([])
    expect(new Set((await listed(allRegions, since)).map(({ oid }) => oid))).toEqual(new Set(posts.slice(0, 20).map(({ oid }) => oid)))
    expect(await listed(allRegions, since + 5_000)).toHaveLength(40)
    const region = regionOf(posts[1]?.oid ?? '', regions())
    const inRegion = posts.filter(({ oid }) => regionOf(oid, regions()) === region)
    expect(new Set((await listed([region], since + 5_000)).map(({ oid }) => oid))).toEqual(new Set(inRegion.map(({ oid }) => oid)))
    expect(await store().listDirty(allRegions, since + 5_000, 7)).toHaveLength(7)
  })
}
