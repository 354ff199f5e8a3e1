/** A copy of a data file: the error for a folder that LMDB cannot use. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { copyLivePages } from '../../../stores/lmdb/live-copy.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidemark-copy-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test.skipIf(process.platform !== 'linux')('a folder in which LMDB cannot make its lock file is CONFIG_INVALID', async () => {
  const copy = join(folder, 'copy.mdb')
  await expect(copyLivePages('/proc/self/tidemark.mdb', copy)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringMatching(
      /^the data folder \/proc\/self cannot be used \(.*setup locks.*\): with --data or TIDEMARK_DATA/,
    ) as string,
  })
  expect(existsSync(copy)).toBe(false)
})
