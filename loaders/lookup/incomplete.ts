/** Values of a lookup that several requests may share. Each of them notes the stores that the lookup lacked. */
import type { AnyStoreName, Degraded } from '../../core/outage/degraded.ts'

/** A value that was found without the stores that are named. */
export class Incomplete<V> {
  readonly value: V
  readonly without: Iterable<AnyStoreName>
  constructor(value: V, without: Iterable<AnyStoreName>) {
    this.value = value
    this.without = without
  }
}

/** The values as they are if no store was lacking. */
export function withoutStores<V>(values: readonly V[], without: Degraded): readonly (V | Incomplete<V>)[] {
  return without.size === 0 ? values : values.map((value) => new Incomplete(value, without))
}

/** The bare values. Adds the stores that they lacked. */
export function noted<F, V>(found: readonly (F | Incomplete<V>)[], degraded: Degraded): (F | V)[] {
  return found.map((each) => {
    if (!(each instanceof Incomplete)) return each
    for (const store of each.without) degraded.add(store)
    return each.value
  })
}
