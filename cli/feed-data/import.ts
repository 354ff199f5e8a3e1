/**
 * `tidemark import-business` reads an export of `export-business` into the record stores. The installation must have no data of the business
 * and must not run: caches and the hot store do not learn of the rows. The business of the posts brings its feed with it.
 *
 * Rows keep their ids, times and versions, so a repetition changes nothing. An import that ended early is run again.
 *
 * An export beside a running service is not of one moment: its counters are newer than its posts. The import therefore counts the posts and
 * reposts of the file itself, and takes the other counters as they are.
 */
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { ZodIssue } from 'zod'
import { FOLLOW_BUSINESS, postBusinessOf } from '../../config/feed.ts'
import { mistakesOf } from '../../config/mistakes.ts'
import { systemClock } from '../../core/clock.ts'
import type { BusinessNumber } from '../../core/domain.ts'
import { TidemarkError } from '../../core/errors.ts'
import { regionOf } from '../../core/regions.ts'
import { makePostTally, withTally, type PostTally } from '../../subgraphs/feed/counters/post-tally.ts'
import { USERS } from '../../subgraphs/feed/model/post-events.ts'
import type { CountRow } from '../../subgraphs/feed/model/counts.ts'
import type { Post } from '../../subgraphs/feed/model/post.ts'
import { isPostId, isRestrictedId, regionOfPost } from '../../subgraphs/feed/packed/post-id.ts'
import type { MarkRow } from '../../subgraphs/thumbup/stores/record-store.ts'
import { chunked } from '../../stores/chunks.ts'
import { businessOf } from '../business-of.ts'
import { readSettings, type Flags } from '../process/settings.ts'
import { openFeedRecords, type FeedRecordStores } from '../stores/feed.ts'
import { openMarkRecords, type OpenMarkRecords } from '../stores/thumbup.ts'
import { exportLine, type ExportLine } from './export-lines.ts'

type Targets = {
  business: BusinessNumber
  name: string
  marks: OpenMarkRecords
  feed: FeedRecordStores | undefined
  /** Of the posts of the file so far, which come before its counters. */
  tally: PostTally
}

const LINES_AT_ONCE = 1_000
/** Any later mark of the same time wins over a mark of an import. */
const NO_VERSION = 0

/** `say` gets a sentence with the number of lines. Throws CONFIG_INVALID with the number of a wrong line. */
export async function importBusiness(name: string, file: string, flags: Flags, say: (line: string) => void): Promise<void> {
  const config = readSettings(flags)
  const business = businessOf(config, name)
  const marks = await openMarkRecords(config, systemClock)
  const feed = postBusinessOf(config) === business ? await openFeedRecords(config, systemClock) : undefined
  const tally = makePostTally(business.number)
  try {
    let count = 0
    for await (const lines of readLines(file, config.stores.regions)) {
      await put(lines, { business: business.number, name, marks, feed, tally })
      count += lines.length
    }
    for (const rows of chunked(uncounted(tally), LINES_AT_ONCE)) await feed?.counters.putTotals(rows)
    say(`${name}: ${count} lines imported`)
  } finally {
    await feed?.close()
    await marks.close()
  }
}

/** Totals of subjects without a line. Their version is their number, so a longer file wins over a part of it, and any later change wins. */
function uncounted(tally: PostTally): CountRow[] {
  return Array.from(tally.rest(), ({ subject, count }) => ({
    subject,
    counts: { [tally.counterOf(subject.business)]: count },
    version: count,
  }))
}

/** Lines of one kind, in the order of the file. */
async function* readLines(file: string, regions: number): AsyncGenerator<ExportLine[]> {
  let lines: ExportLine[] = []
  let number = 0
  try {
    for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
      number++
      const next = parse(text, `${file}:${number}`, regions)
      if (lines.length === LINES_AT_ONCE || (lines[0] !== undefined && lines[0].kind !== next.kind)) {
        yield lines
        lines = []
      }
      lines.push(next)
    }
  } catch (error) {
    if (!(error instanceof Error) || !('syscall' in error)) throw error
    throw new TidemarkError('CONFIG_INVALID', `${file} cannot be read: ${error.message}; name another file`, { cause: error })
  }
  if (lines.length > 0) yield lines
}

function parse(text: string, place: string, regions: number): ExportLine {
  const line = jsonOf(text, place)
  const parsed = exportLine.safeParse(line)
  if (!parsed.success) {
    const mistake = lineMistake(parsed.error.issues, line)
    throw new TidemarkError('CONFIG_INVALID', `${place} is not a line of an export: ${mistake}`)
  }
  const found = parsed.data
  if (found.kind !== 'post') return found
  const { id, author, audience } = found
  if (!isPostId(id, regions) || regionOfPost(id) !== regionOf(author, regions)) {
    const advice = 'import it with the stores.regions of its export'
    throw new TidemarkError('CONFIG_INVALID', `${place}: post ${id} is of another number of regions: ${advice}`)
  }
  if (isRestrictedId(id) === (audience !== undefined)) return found
  throw new TidemarkError(
    'CONFIG_INVALID',
    audience === undefined
      ? `${place}: post ${id} is restricted and has no audience: restore its audience`
      : `${place}: post ${id} is public and has an audience: remove the audience`,
  )
}

function lineMistake(issues: readonly ZodIssue[], line: unknown): string | undefined {
  const [issue] = issues
  if (issue?.path.length === 0) return issue.code === 'unrecognized_keys' ? `remove ${issue.keys.join(', ')}` : 'it is not a JSON object'
  return mistakesOf(issues, line, [])[0]
}

function jsonOf(text: string, place: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new TidemarkError('CONFIG_INVALID', `${place} is not JSON: correct the line`, { cause: error })
  }
}

/** `lines`: of one kind. */
async function put(lines: readonly ExportLine[], { business, name, marks, feed, tally }: Targets): Promise<void> {
  const rows = <K extends ExportLine['kind']>(kind: K) =>
    lines.filter((each): each is Extract<ExportLine, { kind: K }> => each.kind === kind)
  const [first] = lines
  if (first === undefined) return
  if (first.kind === 'mark' || first.kind === 'owner') {
    const own = marks.of(business)
    const liked = rows('mark').map((row) => markRow(row, business, row.mark))
    if (liked.length > 0) await own.applyMarks(liked, [])
    const owners = rows('owner').map(({ id: oid, owner }) => ({ business, oid, owner }))
    if (owners.length > 0) await own.registerSubjects(owners)
    return
  }
  if (feed === undefined) {
    const message = `the file has a line of the feed (${first.kind}), and "${name}" is not the business of posts: name that of feed.business`
    throw new TidemarkError('CONFIG_INVALID', message)
  }
  const posts = rows('post').map((post): Post => ({ source: undefined, audience: undefined, ...post, deleted: false }))
  posts.forEach(tally.add)
  await feed.posts.putPosts(posts)
  await feed.posts.putWords(rows('words').map(({ viewer, words, version }) => ({ viewer, words: { words, version } })))
  const follows = rows('follow').map((row) => markRow(row, FOLLOW_BUSINESS, 'LIKE'))
  if (follows.length > 0) await marks.of(FOLLOW_BUSINESS).applyMarks(follows, [])
  const totals = [...rows('count').map((row) => ({ ...row, of: business })), ...rows('user-count').map((row) => ({ ...row, of: USERS }))]
  await feed.counters.putTotals(
    totals.map(({ id: oid, of, counts, version }) => withTally(tally, { subject: { business: of, oid }, counts, version })),
  )
}

function markRow(row: { viewer: string; id: string; markedAt: number }, business: BusinessNumber, mark: 'LIKE' | 'DISLIKE'): MarkRow {
  return { key: { viewer: row.viewer, business, oid: row.id }, record: { mark, markedAt: row.markedAt, version: NO_VERSION } }
}
