/**
 * The transaction that writes posts, at READ COMMITTED, where each statement sees the latest commits and locks no gaps.
 *
 * 1. The stored rows are read with a lock. A post whose stored version is not older is left out. From here on no other transaction changes
 *    the locked rows.
 * 2. Missing rows are added by a plain INSERT. It fails if another transaction has inserted one since 1, and the whole transaction is
 *    repeated (`transactions.ts`).
 * 3. Locked rows are replaced.
 * 4. Inboxes change by the difference between the stored audience and the new one. Others who change rows of the same post wait for 1.
 *
 * Rows are locked in key order, posts before inboxes.
 */
import { byOrder, KEYS_MAX, placed, type Tuple } from '../../../../stores/mysql/tuples.ts'
import { chunked, chunkedByWeight } from '../../../../stores/chunks.ts'
import type { Session } from '../../../../stores/mysql/database.ts'
import { asLiteral, bytesLiteral, idLiteral, numberLiteral, packedHex } from '../../../../stores/mysql/literals.ts'
import { decodePost, encodePost, encodeWords } from '../../model/post-codec.ts'
import type { Post } from '../../model/post.ts'
import { regionOfPost, type PostId } from '../../packed/post-id.ts'
import { inboxesOf, isListed } from '../listing.ts'
import type { WordsRow } from '../record-store.ts'
import { deleteInbox, insertInbox, insertPosts, lockPosts, updatePosts, upsertWords } from './statements.ts'

/** Bytes per statement, unless one row alone has more: half a megabyte of hexadecimal digits. */
const STATEMENT_BYTES_MAX = 262_144
/** Of the other columns of a row. */
const ROW_BYTES = 128

export function postKeyTuple(id: PostId): Tuple {
  return [numberLiteral(regionOfPost(id)), idLiteral(id)]
}

/** `rowsMax`: rows of inboxes per statement. */
export async function putPosts(session: Session, posts: readonly Post[], rowsMax: number): Promise<void> {
  const packed = posts.map((post) => ({ order: orderOf(post.id), post })).sort(byOrder)
  const stored = await readStored(
    session,
    packed.map(({ post }) => post.id),
  )
  const won = packed.filter(({ post }) => (stored.get(post.id)?.version ?? -1) < post.version).map(({ post }) => post)
  const fresh = won.filter(({ id }) => !stored.has(id))
  const existing = won.filter(({ id }) => stored.has(id))
  for (const rows of inStatements(fresh.map(postTuple))) await session.send(insertPosts(rows))
  for (const rows of inStatements(existing.map(postTuple))) await session.send(updatePosts(rows))

  const changes = won.map((post) => ({ post, ...inboxesOf(stored.get(post.id), post) }))
  const removed = inboxTuples(changes.map(({ post, removed: viewers }) => ({ post, viewers })))
  const added = inboxTuples(changes.map(({ post, added: viewers }) => ({ post, viewers })))
  for (const rows of chunked(removed, KEYS_MAX)) await session.send(deleteInbox(rows))
  for (const rows of chunked(added, rowsMax)) await session.send(insertInbox(rows))
}

export async function putWords(session: Session, rows: readonly WordsRow[]): Promise<void> {
  const packed = rows.map(({ viewer, words }) => ({ order: packedHex(viewer), words })).sort(byOrder)
  const tuples = packed.map(({ order, words }) => [asLiteral(order), numberLiteral(words.version), bytesLiteral(encodeWords(words))])
  for (const some of inStatements(tuples)) await session.send(upsertWords(some))
}

/** Texts in the order of the primary key. */
function orderOf(id: PostId): string {
  return regionOfPost(id).toString(16).padStart(4, '0') + packedHex(id)
}

async function readStored(session: Session, ids: readonly PostId[]): Promise<Map<PostId, Post>> {
  const stored = new Map<PostId, Post>()
  for (const chunk of chunked(ids, KEYS_MAX)) {
    for (const [place, , bytes] of (await session.send(lockPosts(placed(chunk.map(postKeyTuple))))).rows) {
      const id = chunk[Number(place)] as PostId
      stored.set(id, decodePost(id, bytes as Buffer))
    }
  }
  return stored
}

function postTuple(post: Post): Tuple {
  const [region = '', id = ''] = postKeyTuple(post.id)
  const version = numberLiteral(post.version)
  const listed = isListed(post) ? '1' : '0'
  return [region, id, idLiteral(post.author), listed, version, post.deleted ? version : 'NULL', bytesLiteral(encodePost(post))]
}

/** In the order of the primary key. */
function inboxTuples(lists: readonly { post: Post; viewers: readonly string[] }[]): Tuple[] {
  const rows = lists.flatMap(({ post, viewers }) =>
    viewers.map((viewer) => {
      const [owner, id] = [packedHex(viewer), packedHex(post.id)]
      return { order: owner + id, tuple: [asLiteral(owner), asLiteral(id)] }
    }),
  )
  return rows.sort(byOrder).map(({ tuple }) => tuple)
}

function inStatements(rows: readonly Tuple[]): Tuple[][] {
  return chunkedByWeight(rows, 2 * STATEMENT_BYTES_MAX, (row) => ROW_BYTES + (row.at(-1)?.length ?? 0))
}
