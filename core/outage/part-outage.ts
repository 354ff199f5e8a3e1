/**
 * A store in parts. On a Redis Cluster some regions may be unreachable while all others answer: a master is lost, or a
 * slot is in migration. The error then names the affected viewers, so that all others still get answers. A full master
 * refuses writes of its regions only, and the error names these. A leaf.
 */
import type { ViewerId } from '../domain.ts'
import { TidemarkError, isTidemarkError } from '../errors.ts'

/** The store does not answer for these viewers. The error tells nothing about other viewers of the same call. */
export class PartOutage extends TidemarkError {
  readonly concerns: (viewer: ViewerId) => boolean
  constructor(error: unknown, concerns: (viewer: ViewerId) => boolean) {
    super('HOT_STORE_UNAVAILABLE', error instanceof Error ? error.message : String(error), { cause: error })
    this.concerns = concerns
  }
}

/** These parts of the store accept no more data. The error says nothing about other parts. */
export class PartFull extends TidemarkError {
  readonly parts: ReadonlySet<number>
  constructor(error: unknown, parts: ReadonlySet<number>) {
    super('STORE_FULL', error instanceof Error ? error.message : String(error), { cause: error })
    this.parts = parts
  }
}

type OfViewer = { viewer: ViewerId }

/** True if this failure of a call affects some of the items and not the others. The caller then repeats the call for each group. */
export function concernsSomeOnly(error: unknown, items: readonly OfViewer[]): error is PartOutage {
  if (!isTidemarkError(error) || !(error instanceof PartOutage)) return false
  const count = items.filter(({ viewer }) => error.concerns(viewer)).length
  return count > 0 && count < items.length
}

/**
 * Runs the task for all items. If that fails for some of them only, runs it again for those and for the others separately. Answers in the
 * order of the items. The task must be repeatable. The first run may have done its work for the others: `asRepeated` makes the answer of a
 * second run.
 */
export async function apartIfPartIsOut<K extends OfViewer, V>(
  items: readonly K[],
  task: (items: readonly K[]) => Promise<readonly V[]>,
  asRepeated: (answer: V) => V = (answer) => answer,
): Promise<V[]> {
  const again = async (some: readonly K[]) => (await apartIfPartIsOut(some, task, asRepeated)).map(asRepeated)
  try {
    return [...(await task(items))]
  } catch (error) {
    if (!concernsSomeOnly(error, items)) throw error
    return inTwo(items, ({ viewer }) => error.concerns(viewer), again, again)
  }
}

/** Items for which `isOne` is true go to `one`, the rest to `other`, concurrently. Answers in the order of the items. */
export async function inTwo<K, V>(
  items: readonly K[],
  isOne: (item: K) => boolean,
  one: (items: readonly K[]) => Promise<readonly V[]>,
  other: (items: readonly K[]) => Promise<readonly V[]>,
): Promise<V[]> {
  const sides = items.map(isOne)
  const [ones, others] = await Promise.all([one(items.filter((_, at) => sides[at])), other(items.filter((_, at) => !sides[at]))])
  let nextOne = 0
  let nextOther = 0
  return sides.map((side) => (side ? ones[nextOne++] : others[nextOther++]) as V)
}
