/**
 * The archive of one owner: blocks of marks (`subgraphs/thumbup/archive/block.ts`) in the order of time, the newest first. Every id is in
 * at most one of them. Each block's last entry comes before the next block's first. A page therefore touches only the blocks that hold it,
 * which the headers tell.
 *
 * A newly archived mark is nearly always newer than the archive. The newest block fills up, is split off when it is full, and is not
 * written again except for an undo. A block in the middle that outgrows the bound is halved. A block that undoing has emptied by three
 * quarters is merged with its neighbour.
 *
 * An undone mark leaves no trace here. The caller must therefore keep the NONE row as long as an older mark of the pair may arrive again,
 * which is as long as the log keeps its messages.
 */
import assert from 'node:assert/strict'
import type { Mark, MarkEntry, MarkPlace } from '../../../core/domain.ts'
import { compareEntries, blockHeader, decodeBlock, encodeBlock, findInBlock } from './block.ts'
import type { ArchivedMark, BlockHeader } from './block.ts'
import { wantIds } from './block-ids.ts'

/** The change of an id: its new mark, or NONE if it was undone then. */
export type MarkChange = MarkEntry & { mark: Mark }

export type MergeOptions = {
  /** Entries per block. Minimum 1. Default 1000. */
  entriesMax?: number
}

/**
 * The blocks after the changes, newest first. Of an id's changes and its archived mark, the newest markedAt stays. At equal times a change
 * wins over the archive, and a later change over an earlier one. Unchanged blocks come back as the same objects: write only the others, and
 * delete the missing ones.
 *
 * `blocks` are all blocks of the owner, in any order. For an owner with many, the blocks that hold the ids and those at the times of the
 * changes are enough. Blocks that overlap in time (made without this function) are put in order.
 */
export function mergeBlocks(blocks: readonly Buffer[], changes: readonly MarkChange[], options: MergeOptions = {}): Buffer[] {
  const { entriesMax = 1000 } = options
  assert(entriesMax >= 1, 'a block holds at least one mark')
  const parts = separateParts(blocks)
  const latest = latestChanges(changes)
  const archived = partsById(parts, latest.keys())
  for (const change of latest.values()) {
    const places = archived.get(change.id) ?? []
    if (places.some(({ entry }) => outlives(entry, change))) continue
    for (const { part } of places) entriesOf(part).delete(change.id)
    if (change.mark === 'NONE') continue
    const { id, mark, markedAt } = change
    entriesOf(partFor(parts, change)).set(id, { id, mark, markedAt })
  }
  const kept = joinSmall(
    parts.filter((part) => sizeOf(part) > 0),
    entriesMax,
  )
  return kept.flatMap((part, i) => blocksOf(part, i === 0, entriesMax))
}

/** The archived marks of these ids, in the order of the ids. Undefined for an id without one. */
export function findInBlocks(blocks: readonly Buffer[], ids: readonly string[]): (ArchivedMark | undefined)[] {
  const wanted = wantIds(ids)
  const found = new Map<string, ArchivedMark>()
  for (const block of blocks) for (const entry of findInBlock(block, wanted)) found.set(entry.id, entry)
  return ids.map((id) => found.get(id))
}

/**
 * A page of the marks of these kinds, newest first, at most `limit`, strictly after `before` in the list (undefined: from the newest).
 * `before` need not be in the archive. Decodes only the blocks of the page.
 */
export function listFromBlocks(
  blocks: readonly Buffer[],
  marks: readonly Mark[],
  before: MarkPlace | undefined,
  limit: number,
): ArchivedMark[] {
  const page: ArchivedMark[] = []
  for (const { header, block } of newestFirst(blocks)) {
    if (page.length >= limit) break
    if (before !== undefined && header.oldestAt > before.markedAt) continue
    if (!(header.likes > 0 && marks.includes('LIKE')) && !(header.dislikes > 0 && marks.includes('DISLIKE'))) continue
    const entries = decodeBlock(block)
    for (let i = before === undefined ? 0 : indexAfter(entries, before); i < entries.length && page.length < limit; i++) {
      const entry = entries[i] as ArchivedMark
      if (marks.includes(entry.mark)) page.push(entry)
    }
  }
  return page
}

/** The index of the first entry after this place. */
function indexAfter(entries: readonly ArchivedMark[], place: MarkPlace): number {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareEntries(entries[middle] as ArchivedMark, place) <= 0) low = middle + 1
    else high = middle
  }
  return low
}

/** A stretch of time: an unchanged block, or the result of one or several blocks. */
type Part = {
  block: Buffer
  header: BlockHeader
  /** In any order, and only if the part may differ from its block. */
  entries?: Map<string, ArchivedMark>
  /** The end of the part, as decoded. Deletions meanwhile do not move the bounds between parts. */
  last?: ArchivedMark
}

/** Blocks that begin at the same moment are compared by their first entries. Otherwise the headers decide, and nothing is decoded. */
function newestFirst(blocks: readonly Buffer[]): Part[] {
  return blocks
    .map((block) => ({ block, header: blockHeader(block) }))
    .toSorted((a, b) => b.header.newestAt - a.header.newestAt || compareEntries(firstOf(a), firstOf(b)))
}

function separateParts(blocks: readonly Buffer[]): Part[] {
  const parts: Part[] = []
  for (const part of newestFirst(blocks)) {
    const before = parts.at(-1)
    if (before !== undefined && overlap(before, part)) absorb(before, part)
    else parts.push(part)
  }
  return parts
}

function overlap(newer: Part, older: Part): boolean {
  if (newer.header.oldestAt !== older.header.newestAt) return newer.header.oldestAt < older.header.newestAt
  return compareEntries(lastOf(newer), firstOf(older)) > 0
}

/** The newer mark of an id wins here too, although an archive has no id twice. */
function absorb(part: Part, other: Part): void {
  const entries = entriesOf(part)
  const [last] = [lastOf(part), lastOf(other)].toSorted((a, b) => compareEntries(b, a)) as [ArchivedMark, ArchivedMark]
  part.last = last
  for (const entry of other.entries?.values() ?? decodeBlock(other.block)) {
    const known = entries.get(entry.id)
    if (known === undefined || known.markedAt < entry.markedAt) entries.set(entry.id, entry)
  }
  part.header = { ...part.header, oldestAt: Math.min(part.header.oldestAt, other.header.oldestAt) }
}

function latestChanges(changes: readonly MarkChange[]): Map<string, MarkChange> {
  const latest = new Map<string, MarkChange>()
  for (const change of changes) {
    const known = latest.get(change.id)
    if (known === undefined || known.markedAt <= change.markedAt) latest.set(change.id, change)
  }
  return latest
}

function partsById(parts: readonly Part[], ids: Iterable<string>): Map<string, { part: Part; entry: ArchivedMark }[]> {
  const wanted = wantIds(ids)
  const places = new Map<string, { part: Part; entry: ArchivedMark }[]>()
  for (const part of parts) {
    const found = part.entries === undefined ? findInBlock(part.block, wanted) : part.entries.values()
    for (const entry of found) {
      const known = places.get(entry.id)
      if (known === undefined) places.set(entry.id, [{ part, entry }])
      else known.push({ part, entry })
    }
  }
  return places
}

/** A change that equals the stored mark is a no-op. Its block is not rewritten. */
function outlives(entry: ArchivedMark, change: MarkChange): boolean {
  return entry.markedAt > change.markedAt || (entry.markedAt === change.markedAt && entry.mark === change.mark)
}

/** The newest part that does not end before this entry, or the oldest part if all do. The first of all if there is none. */
function partFor(parts: Part[], entry: MarkChange): Part {
  const { id, markedAt } = entry
  for (const part of parts) {
    const { oldestAt } = part.header
    if (oldestAt < markedAt || (oldestAt === markedAt && compareEntries({ id, markedAt }, lastOf(part)) <= 0)) return part
  }
  const oldest = parts.at(-1)
  if (oldest !== undefined) return oldest
  const header: BlockHeader = { format: 0, likes: 0, dislikes: 0, newestAt: markedAt, oldestAt: markedAt }
  const made: Part = { block: Buffer.alloc(0), header, entries: new Map() }
  parts.push(made)
  return made
}

function entriesOf(part: Part): Map<string, ArchivedMark> {
  if (part.entries === undefined) {
    const entries = decodeBlock(part.block)
    part.entries = new Map(entries.map((entry) => [entry.id, entry]))
    part.last = entries.at(-1) as ArchivedMark
  }
  return part.entries
}

function sortedEntries(part: Part): ArchivedMark[] {
  return part.entries === undefined ? decodeBlock(part.block) : [...part.entries.values()].toSorted(compareEntries)
}

function firstOf(part: Part): ArchivedMark {
  return sortedEntries(part)[0] as ArchivedMark
}

function lastOf(part: Part): ArchivedMark {
  part.last ??= sortedEntries(part).at(-1) as ArchivedMark
  return part.last
}

function sizeOf(part: Part): number {
  return part.entries?.size ?? part.header.likes + part.header.dislikes
}

/** A changed, small part is merged with the next or the previous one, if both fit into one block. */
function joinSmall(parts: readonly Part[], entriesMax: number): Part[] {
  const joined: Part[] = []
  for (const part of parts) {
    const before = joined.at(-1)
    const small = [before, part].some((each) => each?.entries !== undefined && sizeOf(each) * 4 < entriesMax)
    if (before !== undefined && small && sizeOf(before) + sizeOf(part) <= entriesMax) absorb(before, part)
    else joined.push(part)
  }
  return joined
}

/**
 * The newest part is cut into full blocks from its oldest entry on, and the rest becomes the newest block. Other parts are cut into equal
 * blocks.
 */
function blocksOf(part: Part, newest: boolean, entriesMax: number): Buffer[] {
  if (part.entries === undefined && sizeOf(part) <= entriesMax) return [part.block]
  const entries = sortedEntries(part)
  const count = Math.ceil(entries.length / entriesMax)
  const blocks: Buffer[] = []
  for (let i = 0, end = 0; i < count; i++) {
    const start = end
    end = newest ? entries.length - (count - 1 - i) * entriesMax : Math.round(((i + 1) * entries.length) / count)
    const block = encodeBlock(entries.slice(start, end))
    blocks.push(block.equals(part.block) ? part.block : block)
  }
  return blocks
}
