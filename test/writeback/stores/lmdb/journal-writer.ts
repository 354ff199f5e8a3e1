/** A process that journals until it is killed, and prints the number of each durable entry. `node journal-writer.ts FOLDER` */
import { writeSync } from 'node:fs'
import { openLmdbJournals } from '../../../../writeback/stores/lmdb/journal.ts'

const { own } = openLmdbJournals(process.argv[2] ?? '')
let next = 0
async function write(): Promise<never> {
  for (;;) {
    const now = next++
    await own.append([{ viewer: '7', now, change: { kind: 'clear' } }])
    writeSync(1, `${now}\n`)
  }
}
await Promise.all([write(), write(), write(), write()])
