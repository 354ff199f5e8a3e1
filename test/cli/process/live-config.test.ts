/** The configuration of a running process, with versions from a watched file. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { followConfig } from '../../../cli/process/live-config.ts'
import { makeConfig } from '../../../config/config.ts'
import { systemClock } from '../../../core/clock.ts'
import { until } from '../../../harness/until.ts'

test('a part that fails to take over new limits gets them again, and until then the version counts as refused', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-live-config-'))
  const path = join(folder, 'live.json')
  const write = (points: number) => writeFileSync(path, JSON.stringify({ limits: { viewer: { points, perSeconds: 1 } } }))
  write(1)
  const sources = [{ name: 'test', values: { live: { from: path } } }]
  const live = await followConfig({ config: makeConfig(sources), sources }, systemClock, () => undefined)
  const taken: unknown[] = []
  let tries = 0
  let problem: string | undefined
  live.onChange(
    ({ limits }) => limits.viewer,
    (viewer) => {
      tries++
      if (tries === 1) throw new Error('no memory')
      problem = live.status().problem
      taken.push(viewer)
    },
  )
  try {
    write(2)
    await until('the limits are in use', () => taken.length > 0 && live.status().problem === undefined)
    expect(problem).toMatch(/^no memory: version \d+ of the live configuration is not in use in each part/)
    expect(taken).toEqual([{ points: 2, perSeconds: 1 }])
  } finally {
    await live.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})

test('a part that was made with settings before the version in effect is called at once, and another one is not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-live-config-'))
  const path = join(folder, 'live.json')
  writeFileSync(path, JSON.stringify({ limits: { viewer: { points: 2, perSeconds: 1 } } }))
  const sources = [{ name: 'test', values: { live: { from: path } } }]
  const live = await followConfig({ config: makeConfig(sources), sources }, systemClock, () => undefined)
  const called: string[] = []
  const follow = (name: string, used?: unknown) =>
    live.onChange<unknown>(
      ({ limits }) => limits.viewer,
      () => called.push(name),
      used,
    )
  try {
    follow('before', { points: 1, perSeconds: 1 })
    follow('equal', { points: 2, perSeconds: 1 })
    follow('default')
    expect(called).toEqual(['before'])
  } finally {
    await live.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})
