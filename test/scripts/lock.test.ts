import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { withLock } from '../../scripts/servers/lock.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-lock-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const LOCK = join(import.meta.dirname, '..', '..', 'scripts', 'servers', 'lock.ts')
const HOLD = `import { withLock } from ${JSON.stringify(LOCK)}
await withLock(process.argv[1], async () => { console.log('held'); await new Promise((resolve) => setTimeout(resolve, 60_000)) })`

test('one command works at a time, and each gets its turn', async () => {
  const file = join(folder, 'lock')
  let inside = 0
  let most = 0
  const work = async () => {
    most = Math.max(most, ++inside)
    await sleep(20)
    inside--
  }
  await Promise.all(Array.from({ length: 5 }, () => withLock(file, work)))
  expect(most).toBe(1)
})

test('a killed owner releases the lock, and one of the waiting commands takes it', async () => {
  const file = join(folder, 'lock')
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', HOLD, file], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  await expect(withLock(file, async () => undefined, 300)).rejects.toThrow('another scripts/services has held')
  let inside = 0
  const takers = [1, 2, 3].map(() =>
    withLock(file, async () => {
      expect(++inside).toBe(1)
      await sleep(20)
      inside--
    }),
  )
  child.kill('SIGKILL')
  const began = Date.now()
  await Promise.all(takers)
  expect(Date.now() - began).toBeLessThan(5_000)
})

const CONTEND = `import { withLock } from ${JSON.stringify(LOCK)}
for (let turn = 0; turn < 100; turn++)
  await withLock(process.argv[1], () => new Promise((resolve) => setTimeout(resolve, 2 * Math.random())), 15_000, 1)`

test('waiting processes do not block each other', async () => {
  const file = join(folder, 'lock')
  const ended = Array.from({ length: 4 }, async () => {
    const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', CONTEND, file], {
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    return (await once(child, 'exit')) as [number | null]
  })
  expect((await Promise.all(ended)).map(([status]) => status)).toEqual([0, 0, 0, 0])
})
