/**
 * Keeps history's misses from the record store. It answers from staged plays and filters whether a viewer may have played a subject. The
 * reads are those of `unseen`, from the same cached filters. For each viewer they cost one round trip of the hot store, and one load from the
 * record store if the filters are not cached. Their order loses nothing, so no recorded play is denied in the months whose filters are read.
 */
import type { ProgressKey } from '../../../core/domain.ts'
import { hashSeen } from '../filter/hash.ts'
import type { MayHavePlayed } from '../../../loaders/progress.ts'
import { askAll, isFound } from './probes.ts'
import type { SeenReads } from './unseen.ts'

export type ResumeGuardFigures = {
  /** Subjects that history missed in truncated timelines, and the number of them that needed the record store. */
  missed: number
  probable: number
}

export type ResumeGuard = { mayHavePlayed: MayHavePlayed; figures(): ResumeGuardFigures }

export function makeResumeGuard({ read }: Pick<SeenReads, 'read'>): ResumeGuard {
  const figures: ResumeGuardFigures = { missed: 0, probable: 0 }

  return {
    async mayHavePlayed(keys, degraded) {
      const answers: boolean[] = Array.from({ length: keys.length }, () => false)
      const groups = Map.groupBy(keys.keys(), (place) => `${keys[place]?.business}:${keys[place]?.viewer}`)
      await Promise.all(
        Array.from(groups.values(), async (places) => {
          const some = places.map((place) => keys[place] as ProgressKey)
          const { viewer, business } = some[0] as ProgressKey
          const { staged, filters } = await read(viewer, business, degraded)
          const found = askAll(
            filters,
            hashSeen(
              business,
              some.map(({ oid }) => oid),
            ),
          )
          some.forEach(({ oid }, at) => {
            answers[places[at] as number] = staged.has(oid) || isFound(found, at)
          })
        }),
      )
      figures.missed += keys.length
      figures.probable += answers.filter(Boolean).length
      return answers
    },
    figures: () => ({ ...figures }),
  }
}
