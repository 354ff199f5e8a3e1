import { expect, it } from 'vitest'
import { systemClock } from '../../../../../core/clock.ts'
import { openEnvironment, type Environment } from '../../../../../stores/lmdb/environment.ts'
import { openLmdbMarkEvents } from '../../../../../subgraphs/thumbup/stores/lmdb/events.ts'
import { countEventId, markEventId } from '../../../../../subgraphs/thumbup/persist/events.ts'
import { markEventsContract } from '../../../../contracts/thumbup/events.ts'
import { makeFolder } from '../../../../stores/lmdb/folders.ts'
import { until } from '../../../../../harness/until.ts'

function openIn(folder: string) {
  const environment: Environment = openEnvironment(folder, { regions: 100, sizeMaxGb: 1 })
  const events = openLmdbMarkEvents(environment, systemClock, { pollMs: 50, keptMax: 250 })
  const close = async (): Promise<void> => {
    await events.close()
    await environment.close()
  }
  return { events, close }
}

markEventsContract('lmdb', async () => {
  const folder = makeFolder()
  let opened = openIn(folder.path)
  return {
    events: opened.events,
    async reopen() {
      await opened.close()
      opened = openIn(folder.path)
      return opened.events
    },
    async dispose() {
      await opened.close()
      folder.remove()
    },
  }
})

it('keeps the newest events only, and a group that fell behind continues with the oldest kept event', async () => {
  const folder = makeFolder()
  const { events, close } = openIn(folder.path)
  const first = await events.consumeCounts('late', async () => {})
  await first.stop()
  const counted = Array.from({ length: 400 }, (_, at) => ({
    id: `1:a@${at + 1}`,
    business: 1,
    oid: 'a',
    counts: { likes: at, dislikes: 0, version: at + 1 },
  }))
  await events.appendEvents([], counted)
  const versions: number[] = []
  await events.consumeCounts('late', async (some) => void versions.push(...some.map(({ counts }) => counts.version)))
  await until('the newest came', () => versions.includes(400))
  expect(versions).toEqual(Array.from({ length: 250 }, (_, at) => 151 + at))
  await close()
  folder.remove()
})

it('removes all events of a business in chunks and no others, and consumers continue behind them', async () => {
  const folder = makeFolder()
  const { events, close } = openIn(folder.path)
  const seen: string[] = []
  const before = await events.consumeMarks('slow', async () => {})
  await before.stop()
  const marks = Array.from({ length: 20 }, (_, at) => {
    const key = { viewer: `v${at}`, business: at % 2 === 0 ? 1 : 2, oid: 'a' }
    return { id: markEventId(key, 5), ...key, old: 'NONE' as const, mark: 'LIKE' as const, markedAt: 5, version: 5 }
  })
  const counts = marks.map(({ business }, version) => ({
    id: countEventId({ business, oid: 'a' }, version),
    ...{ business, oid: 'a', counts: { likes: 1, dislikes: 0, version } },
  }))
  await events.appendEvents(marks, counts)
  expect(await events.countEvents?.(1)).toBe(20)
  // Another removal in between starts again, and neither ends the other.
  const went = [await events.forgetEvents?.(1, 3), await events.forgetEvents?.(3, 3)]
  while (went.at(-1) !== 0 || went.length < 3) went.push(await events.forgetEvents?.(1, 3))
  expect(went).toEqual([3, 0, 3, 3, 1, 3, 3, 3, 1, 0])
  expect([await events.countEvents?.(1), await events.countEvents?.(2)]).toEqual([0, 20])
  await events.consumeMarks('slow', async (some) => void seen.push(...some.map(({ viewer }) => viewer)))
  await until('the others came', () => seen.length >= 10)
  expect(seen).toEqual(marks.filter(({ business }) => business === 2).map(({ viewer }) => viewer))
  // A later call finds late events.
  await events.appendEvents(marks.slice(0, 1), [])
  expect([await events.forgetEvents?.(1, 3), await events.forgetEvents?.(1, 3)]).toEqual([1, 0])
  await close()
  folder.remove()
})
