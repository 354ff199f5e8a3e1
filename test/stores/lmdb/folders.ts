/** Data folders for tests, below the temporary folder of the system. The caller removes them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export function makeFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'tidemark-lmdb-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}
