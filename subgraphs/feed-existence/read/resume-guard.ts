/**
 * Keeps misses of history from the record store: which subjects may a viewer have played, by what is staged and by his filters?
 * Read as for `unseen`, from the same filters in memory, so that it costs a round trip of the hot store at most; and in the
 * order that loses nothing, so that what was recorded is never denied in the months that filters are read for.
 */
import type { ProgressKey } from '../../../core/domain.ts'
import { hashSeen } from '../filter/hash.ts'
import type { MayHavePlayed } from '../../../loaders/progress.ts'
import { askAll, isFound } from './probes.ts'
import type { SeenReads } from './unseen.ts'

export type ResumeGuardFigures = {
  /** Subjects that history missed in truncated timelines, and those of them that the record store had to be asked for. */
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
