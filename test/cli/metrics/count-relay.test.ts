/** Counts put by one process of a data folder reach the followers in all of them; with real processes. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const PROCESSES = new URL('count-relay-processes.ts', import.meta.url).pathname

it('counts put by the primary reach all workers, and those of a worker the primary and the others, once each', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-counts-'))
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [PROCESSES, folder], { timeout: 60_000 })
    expect(stderr).toBe('')
    const told = ['primary', 'worker-1', 'worker-2'].flatMap((place) => [1, 2].map((version) => `told ${place} ${version} ${2 ** 53 - 1}`))
    expect(stdout.trim().split('\n').toSorted()).toEqual(told)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
