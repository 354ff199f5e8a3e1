import { expect, test } from 'vitest'
import type { MarkKey } from '../../core/domain.ts'
import { complete } from '../../core/outage/degraded.ts'
import { getMarkMany } from '../../loaders/marks.ts'
import type { HotMark } from '../../subgraphs/thumbup/stores/hot-store.ts'

const NOTHING = { mark: 'NONE', counted: 'NONE', pending: false } as const

/** A hot store that knows no viewer, and a record store in which every viewer likes every subject. */
function makeSources() {
  const known = new Set<string>()
  const looked: string[] = []
  const held = ({ viewer }: MarkKey): HotMark =>
    known.has(viewer) ? { mark: 'LIKE', counted: 'LIKE', pending: false } : { ...NOTHING, older: 'unknown' }
  return {
    known,
    looked,
    sources: {
      hot: { getMarkMany: (keys: readonly MarkKey[]) => Promise.resolve(keys.map(held)) },
      records: {
        getMarkMany(keys: readonly MarkKey[]) {
          looked.push(...keys.map(({ viewer }) => viewer))
          return Promise.resolve(keys.map(() => ({ mark: 'LIKE' as const, markedAt: 1, version: 1 })))
        },
      },
      fills: {
        bring: ({ viewer }: { viewer: string }) => {
          known.add(viewer)
          return Promise.resolve()
        },
      },
    },
  }
}

test('a lookup with many unknown viewers fills some of them each time, until the record store is not read any more', async () => {
  const { sources, known, looked } = makeSources()
  const keys = Array.from({ length: 20 }, (_, at) => ({ viewer: String(at), business: 1, oid: '1' }))
  for (const [filled, asked] of [
    [8, 12],
    [16, 4],
    [20, 0],
    [20, 0],
  ] as const) {
    looked.length = 0
    const found = await complete((without) => getMarkMany(sources, keys, without))
    expect(found.map((each) => each?.mark)).toEqual(keys.map(() => 'LIKE'))
    expect(known.size).toBe(filled)
    expect(looked.length).toBe(asked)
  }
})
