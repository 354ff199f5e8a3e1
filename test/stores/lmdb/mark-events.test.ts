import { expect, it } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { openEnvironment, type Environment } from '../../../stores/lmdb/environment.ts'
import { openLmdbMarkEvents } from '../../../stores/lmdb/mark-events.ts'
import { markEventsContract } from '../../contracts/mark-events.ts'
import { makeFolder } from './folders.ts'
import { until } from '../../support/until.ts'

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

it('keeps the newest events only, and a group that fell behind goes on with the oldest kept', async () => {
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
