/**
 * Lookups in two steps: first the hot store alone, then all stores for the keys that it cannot answer alone. Each step joins the lookups of
 * many requests. A key that the hot store answers therefore does not wait for another store, and its answer names no missing store.
 */
import type { ViewerId } from '../../core/domain.ts'
import { apartIfPartIsOut, concernsSomeOnly } from '../../core/outage/part-outage.ts'

/** For a key that the hot store cannot answer alone. */
export const UNANSWERED = Symbol('unanswered')
export type HotAnswer<V> = V | typeof UNANSWERED

/**
 * If the hot store fails for some viewers, their keys are unanswered. The second step asks the hot store again, and handles the failure.
 */
export function answerFromHot<K extends { viewer: ViewerId }, V>(
  keys: readonly K[],
  read: (keys: readonly K[]) => Promise<readonly HotAnswer<V>[]>,
): Promise<readonly HotAnswer<V>[]> {
  return apartIfPartIsOut(keys, async (some) => {
    try {
      return await read(some)
    } catch (error) {
      if (concernsSomeOnly(error, some)) throw error
      return some.map(() => UNANSWERED)
    }
  })
}

export function makeHotFirst<K, V>(
  fromHot: (keys: readonly K[]) => Promise<readonly HotAnswer<V>[]>,
  fromAll: (keys: readonly K[]) => Promise<readonly V[]>,
): (keys: readonly K[]) => Promise<readonly V[]> {
  return async (keys) => {
    const answers = await fromHot(keys)
    if (isWhole(answers)) return answers
    const places = [...keys.keys()].filter((place) => answers[place] === UNANSWERED)
    const rest = await fromAll(places.map((place) => keys[place] as K))
    const values = [...answers] as V[]
    places.forEach((place, index) => (values[place] = rest[index] as V))
    return values
  }
}

function isWhole<V>(answers: readonly HotAnswer<V>[]): answers is readonly V[] {
  return !answers.includes(UNANSWERED)
}
