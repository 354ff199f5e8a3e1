/** Entities with values that the resolver already knows, so that their fields answer without another read. */
import type { SubjectEntity } from '../subjects.ts'
import type { Foreseen } from './read/pages.ts'

/** A symbol: entities that other subgraphs send are JSON, and cannot have it. */
const FORESEEN = Symbol('foreseen')

type KnownSubject = SubjectEntity & { [FORESEEN]?: Foreseen }

export function knownSubject(__typename: string, id: string, foreseen: Foreseen): SubjectEntity {
  const known: KnownSubject = { __typename, id, [FORESEEN]: foreseen }
  return known
}

export function noteForeseen(entity: SubjectEntity, foreseen: Foreseen): void {
  const known: KnownSubject = entity
  known[FORESEEN] = foreseen
}

export function foreseenOf(entity: SubjectEntity): Foreseen | undefined {
  return (entity as KnownSubject)[FORESEEN]
}
