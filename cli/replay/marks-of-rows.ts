/**
 * Turns recorded interactions into marks by fixed rules, so that every program can compute the expected result.
 *
 * A row (viewer, subject, time) becomes one or more marks, an hour apart, by the last digit d of FNV-1a(`viewer/subject`):
 *
 * | d | marks |
 * |---|---|
 * | 0 to 5 | LIKE |
 * | 6 | LIKE, NONE |
 * | 7 | DISLIKE |
 * | 8 | DISLIKE, LIKE |
 * | 9 | LIKE, NONE, LIKE |
 *
 * The owner of a subject is `owner-` and FNV-1a(subject) mod 500. The last digit of FNV-1a(subject) decides the time of registration: 0 to
 * 4 before the marks, the others after them. Subjects with 8 and 9 are first registered for `owner-before`, and then for their owner.
 */
import { fnv1a } from '../../core/regions.ts'
import type { Mark } from '../../core/domain.ts'

const HOUR_MS = 3_600_000
const OWNERS = 500

const PLAYS: readonly (readonly Mark[])[] = [
  ...Array.from({ length: 6 }, () => ['LIKE'] as const),
  ['LIKE', 'NONE'],
  ['DISLIKE'],
  ['DISLIKE', 'LIKE'],
  ['LIKE', 'NONE', 'LIKE'],
]

export type WireMark = { viewer: string; business: string; id: string; mark: Mark; markedAt: number }
export type WireRegistration = { business: string; id: string; owner: string }

export function marksOf(row: { viewer: string; oid: string; viewedAt: number }, business: string): WireMark[] {
  const play = PLAYS[fnv1a(`${row.viewer}/${row.oid}`) % 10] ?? []
  return play.map((mark, at) => ({ viewer: row.viewer, business, id: row.oid, mark, markedAt: row.viewedAt + at * HOUR_MS }))
}

export function ownerOf(oid: string): string {
  return `owner-${fnv1a(oid) % OWNERS}`
}

/** Rounds of registrations. The first round is before the marks. A round has each subject once. */
export function registrationsOf(oids: readonly string[], business: string): [before: WireRegistration[], ...after: WireRegistration[][]] {
  const digit = (oid: string): number => fnv1a(oid) % 10
  const register = (oid: string, owner = ownerOf(oid)): WireRegistration => ({ business, id: oid, owner })
  return [
    oids.filter((oid) => digit(oid) < 5).map((oid) => register(oid)),
    oids.filter((oid) => digit(oid) >= 5).map((oid) => register(oid, digit(oid) >= 8 ? 'owner-before' : ownerOf(oid))),
    oids.filter((oid) => digit(oid) >= 8).map((oid) => register(oid)),
  ]
}
