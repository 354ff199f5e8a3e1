import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { lockDataFolder } from '../../../stores/lmdb/folder-lock.ts'
import { makeFolder } from './folders.ts'

const HOLDER = new URL('lock-holder.ts', import.meta.url).pathname

describe('the lock of a data folder', () => {
  const folder = makeFolder()
  afterEach(() => folder.remove())

  it('refuses another process until the holder is gone, even by kill -9, and prints nothing', async () => {
    const holder = spawn(process.execPath, [HOLDER, folder.path], { stdio: ['ignore', 'pipe', 'pipe'] })
    let warnings = ''
    holder.stderr.on('data', (chunk: Buffer) => (warnings += chunk.toString()))
    await once(holder.stdout, 'data')
    const refusal = expect.objectContaining({
      code: 'DATA_IN_USE',
      message: expect.stringContaining(`another tidemark uses the data folder ${folder.path}`),
    })
    expect(() => lockDataFolder(folder.path)).toThrow(refusal)
    const closed = once(holder, 'close')
    holder.kill('SIGKILL')
    await closed
    const lock = lockDataFolder(folder.path)
    expect(() => lockDataFolder(folder.path)).toThrow(refusal)
    lock.release()
    lock.release()
    lockDataFolder(folder.path).release()
    expect(warnings).toBe('')
  })
})
