/** The plays that wait in the hot store for their hour to be folded. They are in no filter yet. */
import { ringOf } from '../../config/feed-existence.ts'
import type { ViewerId } from '../../core/domain.ts'
import { chunked } from '../../stores/chunks.ts'
import { isListing } from '../../subgraphs/feed-existence/migration/progress.ts'
import type { RingShape } from '../../subgraphs/feed-existence/stores/hot-store.ts'
import { selectedName, type Page, type Source, type Walk } from './source.ts'

const VIEWERS_AT_ONCE = 500
const SHARDS_AT_ONCE = 200

/** One page per step of viewers. It cannot be continued: an interrupted walk begins again, and plays may be exported twice. */
export function stagedPlays(source: Source): Walk {
  return { name: 'play', kind: 'play', pages: () => pagesOfPlays(source) }
}

async function* pagesOfPlays(source: Source): AsyncGenerator<Page> {
  const { hot } = source.stores.seen
  const { viewer } = source.selection
  for (const { slots, shards } of await shapesOf(source)) {
    for (let slot = 0; slot < slots; slot += 1) {
      const viewers = viewer === undefined ? await viewersOf(source, slot, shards) : [viewer]
      for (const some of chunked(viewers, VIEWERS_AT_ONCE)) {
        const plays = await hot.readStaged(slot, some)
        const found = plays.flatMap((own, at) =>
          own.flatMap(({ business, oid, playedAt }) => {
            // An entry of a migration lists the viewer and is no play.
            if (isListing({ business })) return []
            const name = selectedName(source, business)
            return [name === undefined ? undefined : { viewer: some[at] as ViewerId, business: name, id: oid, playedAt }]
          }),
        )
        const rows = found.filter((row) => row !== undefined)
        if (found.length > 0) yield { rows, after: undefined, leftOut: found.length - rows.length }
      }
    }
  }
}

/** The shapes that ever were in use, and the configured one. */
async function shapesOf({ stores, config }: Source): Promise<RingShape[]> {
  const shapes = [...(await stores.seen.hot.getRingLayouts()), ringOf(config)]
  const bySlots = new Map<string, RingShape>()
  for (const { slots, shards } of shapes) bySlots.set(`${slots}x${shards}`, { slots, shards })
  return [...bySlots.values()]
}

async function viewersOf({ stores }: Source, slot: number, shards: number): Promise<ViewerId[]> {
  const found: ViewerId[] = []
  for (const some of chunked([...Array(shards).keys()], SHARDS_AT_ONCE)) {
    const listed = await Promise.all(some.map((shard) => stores.seen.hot.listRing(slot, shard, Number.MAX_SAFE_INTEGER)))
    for (const viewers of listed) for (const viewer of viewers) found.push(viewer)
  }
  return found
}
