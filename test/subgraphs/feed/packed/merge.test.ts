import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BOUND_OF_ALL, makeMerge } from '../../../../subgraphs/feed/packed/merge.ts'
import { encodeSection, type Section } from '../../../../subgraphs/feed/packed/section.ts'
import { ID_BYTES, below, lengthOf, newestOf, packIds, unpackIds } from '../../../../subgraphs/feed/packed/vector.ts'

/** Few ids, so that sources share some, on both sides of 2^32. */
const id = fc.oneof(fc.nat({ max: 60 }), fc.integer({ min: 2 ** 32 - 3, max: 2 ** 32 + 3 })).map(String)
/** No post has the id 0. */
const postId = id.filter((one) => one !== '0')
const lists = fc.array(fc.array(id, { maxLength: 30 }), { maxLength: 12 })
const before = fc.option(id, { nil: undefined })
const partLength = fc.integer({ min: 1, max: 8 })

function newestFirst(all: readonly string[][], bound: string | undefined): string[] {
  const distinct = [...new Set(all.flat())].sort((a, b) => Number(b) - Number(a))
  return distinct.filter((one) => bound === undefined || Number(one) < Number(bound))
}

/** The newest `count` ids of a list below a bound, as a store would return them. */
function partOf(vector: Buffer, bound: string | undefined, count: number): Section {
  const rest = below(vector, bound)
  return sectionOf({ ids: newestOf(rest, count), hasMore: lengthOf(rest) > count })
}

/** Complete down to its first id if no floor is given. */
function sectionOf({ ids, hasMore, floor = ids.subarray(0, ID_BYTES) }: Omit<Section, 'lacks'>): Section {
  return { ids, hasMore, floor, lacks: 0 }
}

const partial = (section: Omit<Section, 'lacks'>): Buffer => encodeSection(sectionOf(section))

describe('a merge', () => {
  it('returns each id once, newest first', () => {
    fc.assert(
      fc.property(lists, before, (all, bound) => {
        const merge = makeMerge(
          all.map((list) => partial({ ids: packIds(list), hasMore: false })),
          undefined,
          bound,
        )
        const seen: string[] = []
        for (let step = merge.next(); step.kind !== 'end'; step = merge.next()) {
          expect.assert(step.kind === 'id')
          expect(all[step.source]).toContain(step.id)
          seen.push(step.id)
        }
        expect(seen).toStrictEqual(newestFirst(all, bound))
      }),
    )
  })

  it('returns the same ids if the lists come in parts, and asks for no part that it does not need', () => {
    fc.assert(
      fc.property(lists, before, partLength, partLength, (all, bound, first, next) => {
        const vectors = all.map(packIds)
        const known = vectors.map((vector) => partOf(vector, undefined, first))
        const merge = makeMerge(known.map(encodeSection), undefined, bound)
        const seen: string[] = []
        for (let step = merge.next(); step.kind !== 'end'; step = merge.next()) {
          if (step.kind === 'id') {
            seen.push(step.id)
            continue
          }
          const waiting = newestFirst(
            known.map(({ ids }) => unpackIds(ids)),
            bound,
          ).filter((one) => !seen.includes(one))
          for (const { source, below: lowest } of step.sources) {
            expect(known[source]?.hasMore).toBe(true)
            for (const one of waiting) expect(Number(one)).toBeLessThan(Number(lowest))
          }
          for (const { source, below: lowest } of step.sources) {
            known[source] = partOf(vectors[source] as Buffer, lowest, next)
            merge.replace(source, encodeSection(known[source]))
          }
        }
        expect(seen).toStrictEqual(newestFirst(all, bound))
      }),
      { numRuns: 1_000 },
    )
  })

  it('asks for a continuation only when all known ids above its bound were returned', () => {
    const merge = makeMerge([
      partial({ ids: packIds(['50', '40']), hasMore: true }),
      partial({ ids: packIds(['45', '10']), hasMore: true }),
    ])
    expect([merge.next(), merge.next(), merge.next()].map((step) => step.kind === 'id' && step.id)).toStrictEqual(['50', '45', '40'])
    expect(merge.next()).toStrictEqual({ kind: 'needs', sources: [{ source: 0, below: '40' }] })
    merge.replace(0, partial({ ids: packIds(['39', '38', '40', '41']), hasMore: false }))
    expect([merge.next(), merge.next(), merge.next()].map((step) => step.kind === 'id' && step.id)).toStrictEqual(['39', '38', '10'])
    expect(merge.next()).toStrictEqual({ kind: 'needs', sources: [{ source: 1, below: '10' }] })
    expect(merge.next()).toStrictEqual({ kind: 'end' })
  })

  it('asks at once for all sources that are known only above the cursor', () => {
    const heads = [
      partial({ ids: packIds(['50', '40']), hasMore: true }),
      partial({ ids: packIds(['31', '30']), hasMore: true }),
      partial({ ids: packIds(['60']), hasMore: true }),
    ]
    const merge = makeMerge(heads, undefined, '35')
    expect(merge.next()).toStrictEqual({
      kind: 'needs',
      sources: [
        { source: 0, below: '35' },
        { source: 2, below: '35' },
      ],
    })
  })

  it('asks below the floor of a part, also if its lowest ids are gone', () => {
    const merge = makeMerge([
      partial({ ids: packIds(['50']), hasMore: true, floor: packIds(['30']) }),
      partial({ ids: packIds(['40', '20']), hasMore: false }),
      partial({ ids: packIds([]), hasMore: true, floor: packIds(['25']) }),
    ])
    expect([merge.next(), merge.next()].map((step) => step.kind === 'id' && step.id)).toStrictEqual(['50', '40'])
    expect(merge.next()).toStrictEqual({
      kind: 'needs',
      sources: [
        { source: 0, below: '30' },
        { source: 2, below: '25' },
      ],
    })
    merge.replace(0, partial({ ids: packIds(['45', '22']), hasMore: true, floor: packIds(['45']) }))
    expect(merge.next()).toStrictEqual({ kind: 'id', id: '22', source: 0 })
    expect(merge.next()).toStrictEqual({ kind: 'needs', sources: [{ source: 0, below: '22' }] })
    expect(merge.next()).toStrictEqual({ kind: 'id', id: '20', source: 1 })
  })

  it('returns the same ids if only the newest id of some sources is known, and their lists come in parts', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.array(postId, { maxLength: 30 }), fc.boolean()), { maxLength: 120 }),
        before,
        partLength,
        (sources, bound, length) => {
          const vectors = sources.map(([list]) => packIds(list))
          const newest = { highs: new Uint32Array(sources.length), lows: new Uint32Array(sources.length) }
          for (const [source, ids] of vectors.entries()) {
            if (ids.length === 0) continue
            newest.highs[source] = ids.readUInt32BE(ids.length - ID_BYTES)
            newest.lows[source] = ids.readUInt32BE(ids.length - ID_BYTES + 4)
          }
          const merge = makeMerge(
            vectors.map((ids, source) => (sources[source]?.[1] === true ? encodeSection(partOf(ids, undefined, length)) : undefined)),
            newest,
            bound,
          )
          const seen: string[] = []
          for (let step = merge.next(); step.kind !== 'end'; step = merge.next()) {
            if (step.kind === 'id') seen.push(step.id)
            else
              for (const { source, below: lowest } of step.sources)
                merge.replace(source, encodeSection(partOf(vectors[source] as Buffer, lowest, length)))
          }
          const all = sources.map(([list]) => list)
          expect(seen).toStrictEqual(newestFirst(all, bound))
        },
      ),
      { numRuns: 500 },
    )
  })

  it('asks for few of the sources whose newest id alone is known', () => {
    const sections = Array.from({ length: 1_000 }, (_, at) => partial({ ids: packIds([String(at + 1)]), hasMore: false }))
    const newest = { highs: new Uint32Array(1_000), lows: Uint32Array.from({ length: 1_000 }, (_, at) => at + 1) }
    const merge = makeMerge(
      sections.map(() => undefined),
      newest,
    )
    const asked = merge.next()
    expect.assert(asked.kind === 'needs')
    expect(asked.sources.length).toBeLessThan(60)
    for (const { source } of asked.sources) merge.replace(source, sections[source] as Buffer)
    for (let id = 1_000; id > 980; id--) expect(merge.next()).toStrictEqual({ kind: 'id', id: String(id), source: id - 1 })
  })

  it('asks for an empty source that goes on', () => {
    const merge = makeMerge([partial({ ids: packIds([]), hasMore: true, floor: BOUND_OF_ALL })])
    expect(merge.next()).toStrictEqual({ kind: 'needs', sources: [{ source: 0, below: '9223372036854775807' }] })
    merge.replace(0, partial({ ids: packIds(['7']), hasMore: false }))
    expect(merge.next()).toStrictEqual({ kind: 'id', id: '7', source: 0 })
  })
})
