/**
 * Blocks: many subjects share a key, because a key costs Redis more bytes than the counters in it. A block is a string of entries, in any
 * order: packed id of the subject (`core/keys.ts`), then its packed counters (`packed/counter-schema.ts`).
 *
 * The number of blocks of a region and business grows by linear hashing (Litwin, 1980): when there are more than `SUBJECTS_PER_BLOCK` per
 * block, the next block in turn is split in two, and each subject is in the block that its hash and the number of blocks name. A split
 * moves the entries of one block only. Entries are never removed otherwise.
 *
 * A reader remembers the number of blocks. If it is out of date, the subject may have moved: a reader that finds no entry asks for the
 * number and looks again. An entry that is found is the current one, because a subject has one entry.
 */
import { TidemarkError } from '../../../../../core/errors.ts'
import { packId, packedIdLength, PACKED_ID_BYTES_MAX } from '../../../../../core/keys.ts'

/** A mean of 24 entries of 21 bytes: a key adds about 4 bytes to an entry, and a read transfers 500 bytes. */
export const SUBJECTS_PER_BLOCK = 24

/** The hash of a packed id: FNV-1a over words of 4 bytes, and the final mixing of MurmurHash3, which every bit of the id reaches. */
export function hashOf(oid: Buffer): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < oid.length; at += 4) {
    const word = at + 4 <= oid.length ? oid.readInt32BE(at) : oid.readUIntBE(at, oid.length - at)
    hash = Math.imul(hash ^ word, 0x01000193)
    hash ^= hash >>> 15
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** The block of a hash among so many blocks. */
export function blockOf(hash: number, blocks: number): number {
  const level = 2 ** Math.floor(Math.log2(blocks))
  const wide = hash % (2 * level)
  return wide < blocks ? wide : wide % level
}

/** The block whose entries partly move to the new block, when the number of blocks grows from `blocks` by one. */
export function splitBlockOf(blocks: number): number {
  return blocks - 2 ** Math.floor(Math.log2(blocks))
}

const scratch = Buffer.allocUnsafeSlow(PACKED_ID_BYTES_MAX)

export function packedOid(oid: string): Buffer {
  return Buffer.from(scratch.subarray(0, packId(oid, scratch, 0)))
}

/** The entry of a subject in a block: a view of it, or undefined. Throws DATA_DAMAGED. */
export function findEntry(block: Buffer, oid: Buffer, entryBytes: number): Buffer | undefined {
  for (let at = 0; at < block.length;) {
    const end = at + packedIdLength(block, at)
    if (end - at === oid.length && isAt(block, at, oid)) {
      if (end + entryBytes > block.length) throw damaged(block)
      return block.subarray(end, end + entryBytes)
    }
    at = end + entryBytes
  }
  return undefined
}

/** From the end, where ids differ most. */
function isAt(block: Buffer, start: number, oid: Buffer): boolean {
  for (let at = oid.length - 1; at >= 0; at--) if (block[start + at] !== oid[at]) return false
  return true
}

/** The packed ids of a block. Throws DATA_DAMAGED. */
export function idsIn(block: Buffer, entryBytes: number): Buffer[] {
  const ids: Buffer[] = []
  let at = 0
  while (at < block.length) {
    const end = at + packedIdLength(block, at)
    ids.push(block.subarray(at, end))
    at = end + entryBytes
  }
  if (at !== block.length) throw damaged(block)
  return ids
}

function damaged(block: Buffer): TidemarkError {
  return new TidemarkError(
    'DATA_DAMAGED',
    `a block of counters in Redis is damaged: its ${block.length} bytes are no whole entries. Restore the backup of Redis`,
  )
}
