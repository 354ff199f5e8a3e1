/**
 * `tidemark export-business`: the marks and owners of a business as JSONL, a page at a time, so that its size does not matter:
 *
 *     {"kind":"mark","viewer":"7","id":"42","mark":"LIKE","markedAt":1700000000000}      by viewer, then by id
 *     {"kind":"owner","id":"42","owner":"9"}                                             by id
 *
 * It is what the record store has: marks that a job is about to persist (`thumbup.windowMs`) are missing. Beside a service
 * that writes, each page is of its own moment.
 */
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { systemClock } from '../core/clock.ts'
import type { BusinessNumber, MarkKey } from '../core/domain.ts'
import { TidemarkError } from '../core/errors.ts'
import type { MarkRecords } from '../stores/mark-records.ts'
import { openMarkRecords } from '../stores/open-marks.ts'
import { businessOf } from './business-of.ts'
import { requireDataFolder } from './data-folder.ts'
import { readSettings, type Flags } from './settings.ts'

const PAGE = 1_000

/** `say` is told how much it was, beside the data. */
export async function exportBusiness(
  name: string,
  flags: Flags & { out?: string },
  out: Writable,
  say: (line: string) => void,
): Promise<void> {
  const config = readSettings(flags)
  const { number } = businessOf(config, name)
  requireDataFolder(config)
  const stores = await openMarkRecords(config, systemClock)
  try {
    const { marks, owners } =
      flags.out === undefined ? await writeAll(stores.of(number), number, out) : await writeFile(stores.of(number), number, flags.out)
    say(`${name}: ${marks} marks and ${owners} owners of subjects`)
  } finally {
    await stores.close()
  }
}

type Written = { marks: number; owners: number }

async function writeFile(records: MarkRecords, business: BusinessNumber, path: string): Promise<Written> {
  const file = createWriteStream(path)
  const closed = finished(file)
  // Whatever fails first says why; the other must not end the process unheard.
  closed.catch(() => undefined)
  try {
    await once(file, 'open')
    const written = await writeAll(records, business, file)
    file.end()
    await closed
    return written
  } catch (error) {
    file.destroy()
    if (!(error instanceof Error) || !('syscall' in error)) throw error
    throw new TidemarkError('CONFIG_INVALID', `${path} cannot be written: ${error.message}; name another file with --out`, { cause: error })
  }
}

async function writeAll(records: MarkRecords, business: BusinessNumber, out: Writable): Promise<Written> {
  const written: Written = { marks: 0, owners: 0 }
  for (let after: MarkKey | undefined, more = true; more;) {
    const page = await records.exportMarks(business, after, PAGE)
    await write(
      out,
      page.map(({ key, record }) => ({ kind: 'mark', viewer: key.viewer, id: key.oid, mark: record.mark, markedAt: record.markedAt })),
    )
    written.marks += page.length
    after = page.at(-1)?.key
    more = page.length > 0
  }
  for (let after: string | undefined, more = true; more;) {
    const page = await records.listRegistrations(business, after, PAGE)
    await write(
      out,
      page.map(({ oid, owner }) => ({ kind: 'owner', id: oid, owner })),
    )
    written.owners += page.length
    after = page.at(-1)?.oid
    more = page.length > 0
  }
  return written
}

/** Waits until whoever reads has taken it. */
async function write(out: Writable, lines: readonly object[]): Promise<void> {
  if (lines.length === 0) return
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  await new Promise<void>((resolve, reject) => out.write(text, (error) => (error == null ? resolve() : reject(error))))
}
