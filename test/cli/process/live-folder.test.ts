import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { followVersionFolder, openVersionFolder } from '../../../cli/process/live-folder.ts'
import { settingOf } from '../../../config/live/live-setting.ts'
import { systemClock } from '../../../core/clock.ts'
import { VERSIONS_KEPT, type LiveValue } from '../../../core/live-value.ts'
import { until } from '../../../harness/until.ts'

const setting = settingOf('paint', z.object({ colour: z.string().min(1) }).strict())
let parent: string
let folder: string
let live: LiveValue<{ colour: string }> | undefined

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'tidemark-live-folder-'))
  folder = join(parent, 'live')
})
afterEach(async () => {
  await live?.stop()
  rmSync(parent, { recursive: true, force: true })
})
const open = () => openVersionFolder(setting, folder, systemClock)

test('a follower has the first value until a version is set, and then each version', async () => {
  live = await followVersionFolder(setting, { colour: 'red' }, folder, systemClock, () => undefined)
  expect(live.current()).toEqual({ value: { colour: 'red' }, version: 0 })
  const { version } = await open().change({ colour: 'green' }, 0)
  await until('the first version', () => live?.current().version === version)
  expect(live.current().value).toEqual({ colour: 'green' })
  expect(await open().change({ colour: 'blue' }, version)).toEqual({ value: { colour: 'blue' }, version: version + 1 })
  await until('the second version', () => live?.current().version === version + 1)
  expect(live.current().value).toEqual({ colour: 'blue' })
})

test('a running follower takes over the first version after the folder was lost', async () => {
  live = await followVersionFolder(setting, { colour: 'red' }, folder, systemClock, () => undefined)
  const { version } = await open().change({ colour: 'green' }, 0)
  await until('the first version', () => live?.current().version === version)
  rmSync(folder, { recursive: true })
  await open().change({ colour: 'blue' }, 0)
  await until('the version after the loss', () => live?.current().value.colour === 'blue')
})

test('of two first versions with different times, one is stored', async () => {
  const at = (now: number) => openVersionFolder(setting, folder, { ...systemClock, now: () => now })
  const settled = await Promise.allSettled([at(2_000).change({ colour: 'green' }, 0), at(1_000).change({ colour: 'blue' }, 0)])
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  expect(readdirSync(parent)).toEqual(['live'])
  expect(readdirSync(folder)).toEqual(['2000.json'])
})

test('of twenty changes of one version at once, one is stored', async () => {
  const settled = await Promise.allSettled(Array.from({ length: 20 }, (_, at) => open().change({ colour: `c${at}` }, 0)))
  expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  for (const each of settled) if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'LIVE_VALUE_CHANGED' })
  expect(readdirSync(folder)).toEqual([expect.stringMatching(/^\d+\.json$/)])
})

test('an invalid value is not stored', async () => {
  await expect(open().change({ colour: '' }, 0)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  expect(await open().read()).toBeUndefined()
})

test('a file that is half written by another program is reported once, and the value stays until the next version', async () => {
  const reports: string[] = []
  live = await followVersionFolder(setting, { colour: 'red' }, folder, systemClock, (sentence) => reports.push(sentence))
  mkdirSync(folder)
  writeFileSync(join(folder, '1.json'), '{"at": 1, "value": {"colo')
  await until('a report', () => reports.length > 0)
  expect(live.problem()).toMatch(/1\.json cannot be read .*: set the value again: the last value of paint stays$/)
  expect(live.current().value).toEqual({ colour: 'red' })
  await open().change({ colour: 'blue' }, 1)
  await until('version 2', () => live?.current().version === 2)
  expect([live.problem(), reports.length]).toEqual([undefined, 1])
})

test('the folder keeps the last versions with their notes', async () => {
  const source = open()
  let version = 0
  for (let at = 0; at < VERSIONS_KEPT + 2; at++) ({ version } = await source.change({ colour: `c${at}` }, version, `note ${at}`))
  const history = await source.history()
  expect([history.length, history[0], history.at(-1)?.version]).toMatchObject([
    VERSIONS_KEPT,
    { version, value: { colour: 'c101' }, note: 'note 101' },
    version - VERSIONS_KEPT + 1,
  ])
})

test('a half-written newest version is in the history, can be replaced, and a process that starts has the version before', async () => {
  const { version } = await open().change({ colour: 'green' }, 0)
  writeFileSync(join(folder, `${version + 1}.json`), '{"at":1')
  await expect(open().read()).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  const sentences: string[] = []
  live = await followVersionFolder(setting, { colour: 'red' }, folder, systemClock, (sentence) => sentences.push(sentence))
  expect(live.current()).toEqual({ value: { colour: 'green' }, version })
  await until('the problem is reported', () => live?.problem() !== undefined)
  expect(sentences).toEqual([expect.stringContaining('cannot be read')])
  expect(await open().history()).toMatchObject([{ version: version + 1, note: 'cannot be read' }, { version }])
  await open().change({ colour: 'blue' }, version + 1)
  await until('the next version', () => live?.current().value.colour === 'blue')
})
