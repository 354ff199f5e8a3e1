import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { followFile } from '../../../cli/process/live-file.ts'
import { cacheLayoutSchema, type CacheLayout } from '../../../config/cache.ts'
import { settingOf } from '../../../config/live/live-setting.ts'
import { systemClock } from '../../../core/clock.ts'
import type { LiveValue } from '../../../core/live-value.ts'
import { until } from '../../../harness/until.ts'

const NEVER_MS = 3_600_000
let folder: string
let path: string
let live: LiveValue<CacheLayout> | undefined
let sentences: string[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-live-file-'))
  path = join(folder, 'layout.yaml')
  sentences = []
})
afterEach(async () => {
  await live?.stop()
  rmSync(folder, { recursive: true, force: true })
})

function follow(pollMs = NEVER_MS): LiveValue<CacheLayout> {
  live = followFile<CacheLayout>(
    settingOf('cache.layout', cacheLayoutSchema),
    path,
    systemClock,
    (sentence) => sentences.push(sentence),
    pollMs,
  )
  return live
}

test('a file that is written in place, and one that is renamed over it, are taken over without a poll, each with a higher version', async () => {
  writeFileSync(path, 'main: [a:1]')
  const value = follow()
  const { version } = value.current()
  writeFileSync(path, 'main: [a:2]')
  await until('the written file', () => value.current().value.main[0] === 'a:2')
  const second = value.current().version
  writeFileSync(join(folder, 'next'), '{"main": ["a:3"], "l1": [["b:1"]]}')
  renameSync(join(folder, 'next'), path)
  await until('the renamed file', () => value.current().value.main[0] === 'a:3')
  expect(value.current().value.l1).toEqual([['b:1']])
  expect(second).toBeGreaterThan(version)
  expect(value.current().version).toBeGreaterThan(second)
})

test.each([
  ['main: [a:1\n\n', /layout.yaml is not YAML \(line 1\): [^:]+: the last value of cache.layout stays$/],
  ['backup: [a:1]', /cache.layout.main: it is missing: give a list/],
  ['main: [a]', /cache.layout.main.0: "a" is not possible: write host:port.*\(set in .*layout.yaml\)/],
  ['', /layout.yaml is empty: write the value of cache.layout into it: the last value/],
])('%j is reported in one sentence, the last value stays, and a corrected file is taken over', async (text, reason) => {
  writeFileSync(path, 'main: [a:1]')
  const value = follow(10)
  writeFileSync(path, text)
  await until('a report', () => sentences.length > 0)
  expect(value.current().value.main).toEqual(['a:1'])
  writeFileSync(path, 'main: [a:2]')
  await until('the corrected file', () => value.current().value.main[0] === 'a:2')
  // A poll between truncating and writing may have read the empty file.
  expect(sentences.some((sentence) => reason.test(sentence))).toBe(true)
  for (const sentence of sentences) expect(sentence).toMatch(/^[^\n]*: the last value of cache.layout stays$/)
})

test('a file that goes away and comes back unchanged is reported, and is no change', async () => {
  writeFileSync(path, 'main: [a:1]')
  const value = follow(10)
  const told: string[][] = []
  value.follow((now) => told.push(now.value.main))
  rmSync(path)
  await until('a report', () => sentences.length > 0)
  expect(sentences[0]).toMatch(/layout.yaml cannot be read: .*the last value of cache.layout stays/)
  for (const node of ['a:1', 'a:2']) {
    writeFileSync(join(folder, 'next'), `main: [${node}]`)
    renameSync(join(folder, 'next'), path)
    await until('a later look', () => told.length > 0 || node === 'a:1')
  }
  expect(told).toEqual([['a:2']])
})

test.each([
  ['missing.yaml', undefined, /cannot be read/],
  ['layout.yaml', 'backup: [a:1]', /main: it is missing/],
])('a start with %s that is not valid is refused', (name, text, reason) => {
  path = join(folder, name)
  if (text !== undefined) writeFileSync(path, text)
  expect(() => follow()).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(reason) as string }) as Error,
  )
})
