/**
 * `tidemark export-business` writes the marks and owners of a business as JSONL, a page at a time, so the size does not matter:
 *
 *     {"kind":"mark","viewer":"7","id":"42","mark":"LIKE","markedAt":1700000000000}      by viewer, then by id
 *     {"kind":"owner","id":"42","owner":"9"}                                             by id
 *
 * The business of the posts also has the lines of the feed (`feed-data/export.ts`). `import-business` reads the export.
 *
 * The export has the content of the record store: marks that a job has not persisted yet (`thumbup.windowMs`) are missing. If a service
 * writes meanwhile, the pages are of different moments. A file is written as a whole or not at all.
 */
import type { Writable } from 'node:stream'
import { systemClock } from '../core/clock.ts'
import type { BusinessConfig } from '../config/config.ts'
import { FOLLOW_BUSINESS, postBusinessOf } from '../config/feed.ts'
import type { BusinessNumber, MarkKey } from '../core/domain.ts'
import { TidemarkError } from '../core/errors.ts'
import type { MarkRecords } from '../subgraphs/thumbup/stores/record-store.ts'
import { feedExport } from './feed-data/export.ts'
import { openFeedRecords } from './stores/feed.ts'
import { openMarkRecords } from './stores/thumbup.ts'
import { businessOf } from './business-of.ts'
import { requireDataFolder } from './process/data-folder.ts'
import { readSettings, type Flags } from './process/settings.ts'
import { bytesIn, writeWholeFile } from './migrate/whole-file.ts'

const PAGE = 1_000

/** `say` gets a sentence with the size of the export. */
export async function exportBusiness(
  name: string,
  flags: Flags & { out?: string },
  out: Writable,
  say: (line: string) => void,
): Promise<void> {
  const config = readSettings(flags)
  const business = businessOf(config, name)
  requireDataFolder(config)
  const stores = await openMarkRecords(config, systemClock)
  const feed = postBusinessOf(config) === business ? await openFeedRecords(config, systemClock) : undefined
  try {
    const records = stores.of(business.number)
    const sources: Sources = { records, feed: feed && feedExport(feed, stores.of(FOLLOW_BUSINESS), business.number) }
    const { marks, owners, more } =
      flags.out === undefined ? await writeAll(sources, business.number, out) : await writeFile(sources, business, flags.out)
    say(`${name}: ${marks} marks and ${owners} owners of subjects${feed === undefined ? '' : `, and ${more} lines of the feed`}`)
  } finally {
    await feed?.close()
    await stores.close()
  }
}

type Sources = { records: MarkRecords; feed: AsyncIterable<object[]> | undefined }
/** `more`: lines of the feed. */
type Written = { marks: number; owners: number; more: number }

/**
 * The file may hold the last copy of a business that was or is being removed. An empty export, or the rest that a removal left, must not
 * replace it.
 */
async function writeFile(sources: Sources, { name, number, thumbup }: BusinessConfig, path: string): Promise<Written> {
  const hasData = (await bytesIn(path)) > 0
  if (hasData && thumbup.deleted) {
    throw new TidemarkError(
      'CONFIG_INVALID',
      `${path} is left as it was: business "${name}" is deleted, and may have less by now; name another file with --out`,
    )
  }
  return writeWholeFile(path, async (out) => {
    const written = await writeAll(sources, number, out)
    if (!hasData || written.marks + written.owners + written.more > 0) return written
    throw new TidemarkError(
      'CONFIG_INVALID',
      `${path} is left as it was: business "${name}" has no marks and no owners to replace it with; name another file with --out`,
    )
  })
}

async function writeAll({ records, feed }: Sources, business: BusinessNumber, out: Writable): Promise<Written> {
  const written: Written = { marks: 0, owners: 0, more: 0 }
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
  for await (const lines of feed ?? []) {
    await write(out, lines)
    written.more += lines.length
  }
  return written
}

/** Waits until the reader has taken the lines. */
async function write(out: Writable, lines: readonly object[]): Promise<void> {
  if (lines.length === 0) return
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  await new Promise<void>((resolve, reject) => out.write(text, (error) => (error == null ? resolve() : reject(error))))
}
