/** A raw limit to compare the service's writes with: the same records put into bare LMDB, awaited until synced. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open } from 'lmdb'

const BATCH = 500
const VALUE = Buffer.alloc(48, 1)

export async function measureRawStore(durationMs: number): Promise<{ putsPerSecond: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-raw-'))
  const environment = open({ path: folder, encoding: 'binary', keyEncoding: 'binary', maxDbs: 2 })
  const database = environment.openDB({ name: 'records', encoding: 'binary', keyEncoding: 'binary' })
  try {
    const begun = performance.now()
    let puts = 0
    while (performance.now() - begun < durationMs) {
      await Promise.all(
        Array.from({ length: 8 }, async () => {
          for (let i = 0; i < BATCH; i++) {
            const key = Buffer.allocUnsafe(18)
            key.writeDoubleBE((puts * 7_919) % 10_000_000, 0)
            key.writeDoubleBE(puts++ % 2_000, 8)
            key.writeUInt16BE(1, 16)
            void database.put(key, VALUE)
          }
          await database.flushed
        }),
      )
    }
    return { putsPerSecond: puts / ((performance.now() - begun) / 1_000) }
  } finally {
    await environment.close()
    rmSync(folder, { recursive: true, force: true })
  }
}
