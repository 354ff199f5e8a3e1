/** Registers owners of subjects, and compares counts with rows. */
import type { BusinessNumber, OwnerSum, Subject, SubjectCounts, ViewerId } from '../../../../core/domain.ts'
import type { Drift, Registration } from '../record-store.ts'
import { type Received, addToOwners, countsOf } from './apply.ts'
import type { Session } from '../../../../stores/mysql/database.ts'
import { packedHex, asLiteral } from '../../../../stores/mysql/literals.ts'
import { packSubject } from './rows.ts'
import { countArchived, countRows, lockCounts, selectCounts, selectOwnerSums, sumOwners, updateOwnersOf } from './statements.ts'
import { KEYS_MAX, byOrder, placed } from '../../../../stores/mysql/tuples.ts'
import { chunked } from '../../../../stores/chunks.ts'
import { idOf } from '../../../../stores/mysql/cells.ts'

export type OwnerKey = { business: BusinessNumber; owner: ViewerId }

/** Runs within a transaction, which locks counts before owners, like the transaction that writes marks. */
export async function registerSome(session: Session, registrations: readonly Registration[]): Promise<OwnerSum[]> {
  const received: Received[] = []
  const packed = registrations.map((registration) => ({ ...registration, ...packSubject(registration) })).sort(byOrder)
  for (const chunk of chunked(packed, KEYS_MAX)) {
    const subjects = chunk.map(({ tuple }) => tuple)
    await session.send(lockCounts(subjects))
    const moved = (await session.send(selectCounts(placed(subjects)))).rows.flatMap((row) => {
      const { business, owner, tuple } = chunk[Number(row[0])] as (typeof chunk)[number]
      const former = row[4] === null || row[4] === undefined ? undefined : idOf(row[4])
      if (former === owner) return []
      const likes = Number(row[1])
      if (former !== undefined) received.push({ business, owner: former, likes: -likes })
      received.push({ business, owner, likes })
      return [[...tuple, asLiteral(packedHex(owner))]]
    })
    if (moved.length > 0) await session.send(updateOwnersOf(moved))
  }
  return addToOwners(session, received)
}

const NOTHING: SubjectCounts = { likes: 0, dislikes: 0, version: 0 }

/** In the order of the subjects. */
export async function readCounts(
  session: Session,
  subjects: readonly Subject[],
): Promise<{ counts: SubjectCounts; owner: ViewerId | undefined }[]> {
  const found = subjects.map((): { counts: SubjectCounts; owner: ViewerId | undefined } => ({ counts: NOTHING, owner: undefined }))
  for (let start = 0; start < subjects.length; start += KEYS_MAX) {
    for (const row of (await session.send(selectCounts(tuplesOf(subjects.slice(start, start + KEYS_MAX))))).rows)
      found[start + Number(row[0])] = { counts: countsOf(row, 1), owner: row[4] === null ? undefined : idOf(row[4]) }
  }
  return found
}

/** In the order of the owners. */
export async function readOwnerSums(session: Session, owners: readonly OwnerKey[]): Promise<OwnerSum[]> {
  const found = owners.map(({ business, owner }): OwnerSum => ({ business, owner, likes: 0, version: 0 }))
  for (let start = 0; start < owners.length; start += KEYS_MAX) {
    for (const row of (await session.send(selectOwnerSums(ownerTuples(owners.slice(start, start + KEYS_MAX))))).rows) {
      const sum = found[start + Number(row[0])] as OwnerSum
      found[start + Number(row[0])] = { ...sum, likes: Number(row[1]), version: Number(row[2]) }
    }
  }
  return found
}

/** Runs within a snapshot. An archived mark counts unless a row covers it. */
export async function recountSome(session: Session, subjects: readonly Subject[]): Promise<Drift[]> {
  const drifts: Drift[] = []
  for (const chunk of chunked(subjects, KEYS_MAX)) {
    const found = await readCounts(session, chunk)
    const rows = chunk.map(() => ({ NONE: 0, likes: 0, dislikes: 0 }))
    const states = ['NONE', 'likes', 'dislikes'] as const
    for (const [place, mark, covers, count] of (await session.send(countRows(tuplesOf(chunk)))).rows) {
      const sums = rows[Number(place)] as (typeof rows)[number]
      sums[states[Number(mark)] ?? 'NONE'] += Number(count)
      sums[states[Number(covers)] ?? 'NONE'] -= Number(count)
    }
    for (const [place, likes, dislikes] of (await session.send(countArchived(tuplesOf(chunk)))).rows) {
      const sums = rows[Number(place)] as (typeof rows)[number]
      sums.likes += Number(likes)
      sums.dislikes += Number(dislikes)
    }
    chunk.forEach(({ business, oid }, place) => {
      const { counts } = found[place] as { counts: SubjectCounts }
      const { likes, dislikes } = rows[place] as (typeof rows)[number]
      if (likes !== counts.likes || dislikes !== counts.dislikes) drifts.push({ business, oid, counts, rows: { likes, dislikes } })
    })
  }
  return drifts
}

/** Runs within a snapshot. */
export async function recountOwnersSome(session: Session, owners: readonly OwnerKey[]): Promise<(OwnerSum & { summed: number })[]> {
  const drifts: (OwnerSum & { summed: number })[] = []
  for (const chunk of chunked(owners, KEYS_MAX)) {
    const sums = await readOwnerSums(session, chunk)
    const summed = chunk.map(() => 0)
    for (const [place, likes] of (await session.send(sumOwners(ownerTuples(chunk)))).rows) summed[Number(place)] = Number(likes)
    sums.forEach((sum, place) => {
      if (sum.likes !== summed[place]) drifts.push({ ...sum, summed: summed[place] as number })
    })
  }
  return drifts
}

function tuplesOf(subjects: readonly Subject[]) {
  return placed(subjects.map((subject) => packSubject(subject).tuple))
}

function ownerTuples(owners: readonly OwnerKey[]) {
  return placed(owners.map(({ business, owner }) => packSubject({ business, oid: owner }).tuple))
}
