/** The bytes of marks in the archive: each mark is in a block of its viewer and in a block of its subject. */
import type { ArchivedMark } from '../../subgraphs/thumbup/archive/block.ts'
import { mergeBlocks } from '../../subgraphs/thumbup/archive/blocks.ts'
import type { MarkRow } from './archive-load.ts'

export const BLOCK_ENTRIES = 1_000

export function bytesPerMark(rows: readonly MarkRow[]): { viewers: number; subjects: number } {
  return {
    viewers: bytesOf(archived(rows, 'viewer', 'oid')) / rows.length,
    subjects: bytesOf(archived(rows, 'oid', 'viewer')) / rows.length,
  }
}

/** All blocks of all owners. */
function archived(rows: readonly MarkRow[], owner: 'viewer' | 'oid', other: 'viewer' | 'oid'): Buffer[] {
  const entries = Map.groupBy(rows, (row) => row[owner])
  return [...entries.values()].flatMap((own) =>
    mergeBlocks(
      [],
      own.map((row) => archivedMark(row, other)),
      { entriesMax: BLOCK_ENTRIES },
    ),
  )
}

function bytesOf(blocks: readonly Buffer[]): number {
  return blocks.reduce((sum, block) => sum + block.length, 0)
}

export function archivedMark({ mark, markedAt, ...ends }: MarkRow, end: 'viewer' | 'oid'): ArchivedMark {
  return { id: ends[end], mark, markedAt }
}
