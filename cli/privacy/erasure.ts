/**
 * The erasure of a viewer in passes. A pass asks every place in order. The passes end when one finds nothing, and there are two at least: a
 * job may have read contents before the first pass removed them, and write them after it. Between two passes such a step ends. A slow
 * step of the distributed shape ends before the last pass.
 *
 * A place that fails is left out of the later passes. The erasure is then incomplete, and may be repeated: each pass begins anyway at the
 * beginning, and finds what is left.
 */
import type { Clock } from '../../core/clock.ts'
import type { ViewerId } from '../../core/domain.ts'
import { isTidemarkError, type ErrorCode } from '../../core/errors.ts'
import type { ErasurePlace } from '../stores/erasure.ts'

export type PlaceErased = {
  place: string
  /** Removed entries of the store: keys, rows, members. Undefined: it was not asked. */
  removed: number
  /** Entries that are there at the end. Undefined: the store did not answer. */
  left: number | undefined
  failure?: { code: ErrorCode; message: string }
}

export type PassOptions = {
  /** Minimum 2. */
  passesMax: number
  /** Waits between two passes. */
  settle(): Promise<void>
  /**
   * Waits once more, before a last pass, for a step that began before the erasure and is slow. Not called if a place failed, since the
   * erasure is incomplete anyway.
   */
  settleSlow?(): Promise<void>
}

export async function eraseInPasses(
  clock: Clock,
  viewer: ViewerId,
  places: readonly ErasurePlace[],
  { passesMax, settle, settleSlow }: PassOptions,
): Promise<PlaceErased[]> {
  const erased = places.map(({ name }): PlaceErased => ({ place: name, removed: 0, left: undefined }))
  const each = async (ask: (place: ErasurePlace, into: PlaceErased) => Promise<void>): Promise<void> => {
    for (const [at, place] of places.entries()) {
      const into = erased[at] as PlaceErased
      if (into.failure === undefined) await noteFailure(into, () => ask(place, into))
    }
  }

  const erasePass = (): Promise<void> => {
    const upTo = clock.now()
    return each(async (place, into) => {
      into.removed += await place.erase(viewer, upTo)
    })
  }

  for (let pass = 1, before = 0; pass <= passesMax; pass++) {
    if (pass > 1) await settle()
    await erasePass()
    const removed = erased.reduce((sum, each) => sum + each.removed, 0)
    if (pass > 1 && removed === before) break
    before = removed
  }
  if (settleSlow !== undefined && erased.every(({ failure }) => failure === undefined)) {
    await settleSlow()
    await erasePass()
  }
  await each(async (place, into) => {
    into.left = await place.count(viewer)
  })
  return erased
}

/** The look of `--verify`. */
export async function countInPlaces(viewer: ViewerId, places: readonly ErasurePlace[]): Promise<PlaceErased[]> {
  const found: PlaceErased[] = []
  for (const place of places) {
    const into: PlaceErased = { place: place.name, removed: 0, left: undefined }
    found.push(into)
    await noteFailure(into, async () => {
      into.left = await place.count(viewer)
    })
  }
  return found
}

async function noteFailure(into: PlaceErased, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    // The other places are erased anyway, and the report names this one.
    into.failure = isTidemarkError(error) ? { code: error.code, message: error.message } : { code: 'INTERNAL', message: String(error) }
  }
}
