import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TidemarkError } from '../../../core/errors.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import type { Subject, CountedSubject } from '../../../core/domain.ts'
import type { CountCache } from '../../../subgraphs/thumbup/stores/count-cache.ts'
import { makeCountFollowers } from '../../../subgraphs/thumbup/read/count-followers.ts'
import { makeSteppedClock } from '../../../harness/stepped-clock.ts'

const WINDOW_MS = 20
const subject = (oid: string, business = 1): Subject => ({ business, oid })
const counted = (oid: string, version: number): CountedSubject => ({
  ...subject(oid),
  counts: { likes: version * 10, dislikes: version, version },
})

/** A cache with one listener that counts the subjects added. */
function makeCache() {
  let listener: ((changed: CountedSubject) => void) | undefined
  let onGap: (() => void) | undefined
  const added = new Map<string, number>()
  const asked = { followings: 0, reads: 0, failure: undefined as Error | undefined }
  const cache: Pick<CountCache, 'followCounts'> = {
    followCounts(given, gap) {
      asked.followings += 1
      listener = given
      onGap = gap
      return {
        add(subjects) {
          for (const { oid } of subjects) added.set(oid, (added.get(oid) ?? 0) + 1)
          return asked.failure === undefined ? Promise.resolve() : Promise.reject(asked.failure)
        },
        remove(subjects) {
          for (const { oid } of subjects) if (added.set(oid, (added.get(oid) ?? 0) - 1).get(oid) === 0) added.delete(oid)
        },
        stop: () => (listener = undefined),
      }
    },
  }
  const stored = new Map<string, CountedSubject['counts']>()
  const reads = {
    getFresh(subjects: readonly Subject[]) {
      asked.reads += 1
      return Promise.resolve(subjects.map(({ oid }) => stored.get(oid) ?? { likes: 0, dislikes: 0, version: 0 }))
    },
  }
  const clock = makeSteppedClock()
  const followers = makeCountFollowers(clock, cache, reads, WINDOW_MS)
  return {
    followers,
    clock,
    asked,
    added,
    stored,
    tell: (changed: CountedSubject) => listener?.(changed),
    gap: () => onGap?.(),
    isHeard: () => listener !== undefined,
  }
}

test('a thousand subscribers of one subject share one subscription, and each gets each change', async () => {
  const { followers, clock, asked, tell } = makeCache()
  const streams = await Promise.all(Array.from({ length: 1_000 }, () => followers.open([subject('a'), subject('a')], new Set())))
  expect([asked.followings, followers.figures()]).toEqual([1, { streams: 1_000, subjects: 1 }])
  const next = streams.map((stream) => stream.next())
  tell(counted('a', 1))
  tell(counted('a', 2))
  tell(counted('b', 3))
  clock.advance(WINDOW_MS)
  for (const step of await Promise.all(next)) expect(step.value).toEqual([counted('a', 2)])
})

test('a slow subscriber gets only the newest counts', async () => {
  const { followers, clock, tell } = makeCache()
  const stream = await followers.open([subject('a'), subject('b')], new Set())
  for (let version = 1; version <= 100; version += 1) {
    tell(counted('a', version))
    clock.advance(WINDOW_MS)
  }
  expect((await stream.next()).value).toEqual([counted('a', 100)])
  tell(counted('b', 1))
  tell(counted('a', 99))
  const next = stream.next()
  clock.advance(WINDOW_MS)
  expect((await next).value).toEqual([counted('b', 1)])
})

test('with the cache down a stream opens, and it gets the changes once the cache is back', async () => {
  const { followers, clock, asked, stored, gap } = makeCache()
  asked.failure = new TidemarkError('HOT_STORE_UNAVAILABLE', 'down')
  const degraded: Degraded = new Set()
  const stream = await followers.open([subject('a')], degraded)
  expect([...degraded]).toEqual(['hotStore'])
  stored.set('a', counted('a', 4).counts)
  const next = stream.next()
  gap()
  clock.advance(WINDOW_MS)
  await new Promise(setImmediate)
  clock.advance(WINDOW_MS)
  expect((await next).value).toEqual([counted('a', 4)])
})

test('a stream that cannot be opened for another reason is rejected, and leaves nothing behind', async () => {
  const { followers, asked, added } = makeCache()
  await followers.open([subject('a')], new Set())
  asked.failure = new TidemarkError('DATA_INCOMPATIBLE', 'newer')
  await expect(followers.open([subject('b')], new Set())).rejects.toMatchObject({ code: 'DATA_INCOMPATIBLE' })
  expect(followers.figures()).toEqual({ streams: 1, subjects: 1 })
  expect([...added.keys()]).toEqual(['a'])
})

test('a gap is closed by one read of each subject for all its streams', async () => {
  const { followers, clock, asked, gap } = makeCache()
  const subjects = Array.from({ length: 200 }, (_, at) => subject(`s${at}`))
  for (let count = 0; count < 50; count += 1) await followers.open(subjects, new Set())
  for (let region = 0; region < 100; region += 1) gap()
  clock.advance(WINDOW_MS)
  await new Promise(setImmediate)
  expect(asked.reads).toBe(1)
})

test('with streams opened and closed in any order, each gets only its own subjects, and nothing is kept at the end', async () => {
  const oids = ['a', 'b', 'c', 'd', 'e']
  const step = fc.record({
    kind: fc.constantFrom('open', 'open', 'close', 'tell', 'tell'),
    of: fc.uniqueArray(fc.constantFrom(...oids), { minLength: 1 }),
    place: fc.nat(20),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { followers, clock, added, tell, isHeard } = makeCache()
      const open: {
        stream: AsyncIterableIterator<readonly CountedSubject[]>
        of: string[]
        heard: Map<string, number>
        expected: Map<string, number>
      }[] = []
      const listen = async (each: (typeof open)[number]): Promise<void> => {
        for await (const changed of each.stream) for (const { oid, counts } of changed) each.heard.set(oid, counts.version)
      }
      let version = 0
      for (const { kind, of, place } of steps) {
        if (kind === 'open') {
          const each = {
            stream: await followers.open(
              of.map((oid) => subject(oid)),
              new Set(),
            ),
            of,
            heard: new Map(),
            expected: new Map(),
          }
          open.push(each)
          void listen(each)
        } else if (kind === 'close' && open.length > 0) {
          const [each] = open.splice(place % open.length, 1)
          await each?.stream.return?.()
          await each?.stream.return?.()
        } else if (kind === 'tell') {
          version += 1
          for (const oid of of) {
            tell(counted(oid, version))
            for (const each of open) if (each.of.includes(oid)) each.expected.set(oid, version)
          }
        }
        expect(followers.figures()).toEqual({ streams: open.length, subjects: new Set(open.flatMap((each) => each.of)).size })
      }
      clock.advance(WINDOW_MS)
      await new Promise(setImmediate)
      for (const { heard, expected } of open) expect(Object.fromEntries(heard)).toEqual(Object.fromEntries(expected))
      for (const { stream } of open) await stream.return?.()
      expect([followers.figures(), added.size, isHeard(), clock.pending()]).toEqual([{ streams: 0, subjects: 0 }, 0, false, 0])
    }),
  )
})
