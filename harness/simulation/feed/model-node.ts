/** One node of a pool. It loses some of its values, and sometimes returns an older one. */
import { randomBelow, type Random } from '../../../core/random.ts'
import type { Held } from '../../../cache/node-client.ts'
import type { Stamped } from '../../../cache/tiered-cache.ts'

export type NodeFaults = {
  /** The probability that a quiet write is lost, and that a read loses its value. */
  loseChance: number
  /** The probability that a read returns an older value. */
  oldChance: number
}

export type ModelNode = ReturnType<typeof makeModelNode>

/** Older values of a key that a node may answer. */
const OLDER_MAX = 3

/** `nextState`: the numbers of stored states. */
export function makeModelNode(
  random: Random,
  now: () => number,
  nextState: () => number,
  address: string,
  { loseChance, oldChance }: NodeFaults,
) {
  const values = new Map<string, Held[]>()

  /** The values that have not ended, the newest last. */
  const keptOf = (key: string): Held[] => (values.get(key) ?? []).filter(({ endsAt }) => endsAt > now())

  return {
    address,
    isDown: false,
    read(key: string): Held | undefined {
      if (random() < loseChance) values.delete(key)
      const kept = keptOf(key)
      return random() < oldChance ? kept[randomBelow(random, Math.max(1, kept.length))] : kept.at(-1)
    },
    store(key: string, { value, version }: Stamped, endsAt: number): true {
      const held = { value: Buffer.from(value), version, state: nextState(), endsAt }
      values.set(key, [...keptOf(key).slice(-OLDER_MAX), held])
      return true
    },
    stateOf: (key: string): number | undefined => keptOf(key).at(-1)?.state,
    empty: (): void => values.clear(),
  }
}
