import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Mark } from '../../../../core/domain.ts'
import { blockHeader, compareEntries, decodeBlock, encodeBlock } from '../../../../subgraphs/thumbup/archive/block.ts'
import type { ArchivedMark } from '../../../../subgraphs/thumbup/archive/block.ts'
import { findInBlocks, mergeBlocks, listFromBlocks } from '../../../../subgraphs/thumbup/archive/blocks.ts'
import type { MarkChange } from '../../../../subgraphs/thumbup/archive/blocks.ts'
import { anyEntries, anyId, anyTime } from '../../../support/marks.ts'

/** Few ids, so that changes of the same id occur. */
const fewId = fc.oneof(fc.nat({ max: 30 }).map(String), fc.constantFrom('a', 'b', 'é', '9007199254740993', '9007199254740994'))
const change: fc.Arbitrary<MarkChange> = fc.record(
  { id: fc.oneof(fewId, anyId), mark: fc.constantFrom('LIKE', 'DISLIKE', 'NONE'), markedAt: fc.oneof(fc.nat({ max: 40 }), anyTime) },
  { noNullPrototype: true },
)
const rounds = fc.array(fc.array(change, { maxLength: 30 }), { minLength: 1, maxLength: 6 })
const bound = fc.integer({ min: 1, max: 9 })

type Model = Map<string, ArchivedMark>

/**
 * The expected content of the archive. Within a round the newest change of an id wins, and at equal times the later one. The result is
 * merged with the stored marks by the same rule.
 */
function applyToModel(model: Model, changes: readonly MarkChange[]): void {
  const newest = new Map<string, MarkChange>()
  for (const one of changes) if ((newest.get(one.id)?.markedAt ?? -1) <= one.markedAt) newest.set(one.id, one)
  for (const { id, mark, markedAt } of newest.values()) {
    if ((model.get(id)?.markedAt ?? -1) > markedAt) continue
    if (mark === 'NONE') model.delete(id)
    else model.set(id, { id, mark, markedAt })
  }
}

function listModel(model: Model): ArchivedMark[] {
  return [...model.values()].toSorted(compareEntries)
}

function marks(from: number, count: number): ArchivedMark[] {
  return Array.from({ length: count }, (_, i) => ({ id: String(from + i), mark: 'LIKE', markedAt: 1_000 + from + i }))
}

describe('an archive of blocks', () => {
  it('holds the content of a map after any merges, in ordered blocks within the bound', () => {
    fc.assert(
      fc.property(rounds, bound, fc.boolean(), (all, entriesMax, reverse) => {
        const model: Model = new Map()
        let blocks: Buffer[] = []
        for (const changes of all) {
          applyToModel(model, changes)
          blocks = mergeBlocks(reverse ? blocks.toReversed() : blocks, changes, { entriesMax })
          expect(blocks.flatMap(decodeBlock)).toStrictEqual(listModel(model))
          for (const block of blocks) expect(decodeBlock(block).length).toBeLessThanOrEqual(entriesMax)
        }
      }),
      { numRuns: 2_000 },
    )
  })

  it('finds every id by its latest mark, and no undone id', () => {
    fc.assert(
      fc.property(rounds, bound, fc.array(anyId), (all, entriesMax, others) => {
        const model: Model = new Map()
        let blocks: Buffer[] = []
        for (const changes of all) {
          applyToModel(model, changes)
          blocks = mergeBlocks(blocks, changes, { entriesMax })
        }
        const ids = [...all.flat().map(({ id }) => id), ...others]
        expect(findInBlocks(blocks, ids)).toStrictEqual(ids.map((id) => model.get(id)))
      }),
    )
  })

  it('lists pages without gaps or duplicates, all marks or those of a kind, from any cursor', () => {
    fc.assert(
      fc.property(
        rounds,
        bound,
        fc.integer({ min: 1, max: 7 }),
        fc.subarray<Mark>(['LIKE', 'DISLIKE', 'NONE']),
        (all, entriesMax, limit, kinds) => {
          const model: Model = new Map()
          let blocks: Buffer[] = []
          for (const changes of all) {
            applyToModel(model, changes)
            blocks = mergeBlocks(blocks, changes, { entriesMax })
          }
          const expected = listModel(model).filter((entry) => kinds.includes(entry.mark))
          const listed: ArchivedMark[] = []
          for (let page = listFromBlocks(blocks, kinds, undefined, limit); page.length > 0;) {
            listed.push(...page)
            expect(page.length === limit || listed.length === expected.length).toBe(true)
            page = listFromBlocks(blocks.toReversed(), kinds, listed.at(-1), limit)
          }
          expect(listed).toStrictEqual(expected)
          for (const after of all.flat()) {
            const next = expected.filter((entry) => compareEntries(entry, after) > 0).slice(0, limit)
            expect(listFromBlocks(blocks, kinds, after, limit)).toStrictEqual(next)
          }
        },
      ),
      { numRuns: 500 },
    )
  })

  it('merges separately built blocks in order, each id with its newest mark', () => {
    fc.assert(
      fc.property(anyEntries, fc.array(fc.nat({ max: 3 }), { minLength: 60, maxLength: 60 }), bound, (entries, homes, entriesMax) => {
        const apart = [0, 1, 2, 3].map((home) => entries.filter((_, i) => homes[i] === home)).filter((some) => some.length > 0)
        const merged = mergeBlocks(apart.map(encodeBlock), [], { entriesMax })
        expect(merged.flatMap(decodeBlock)).toStrictEqual(entries.toSorted(compareEntries))
      }),
    )
    const chain: [string, number][][] = [
      [
        ['1', 9],
        ['2', 5],
      ],
      [
        ['3', 7],
        ['9', 5],
      ],
      [
        ['4', 5],
        ['5', 3],
      ],
    ]
    const linked = chain.map((pairs) => encodeBlock(pairs.map(([id, markedAt]) => ({ id, mark: 'LIKE', markedAt }))))
    const inOrder = mergeBlocks(linked, [], { entriesMax: 2 }).flatMap(decodeBlock)
    expect(inOrder.map((entry) => entry.id)).toEqual(['1', '3', '2', '4', '9', '5'])

    const older = encodeBlock([...marks(1, 3), { id: 'x', mark: 'LIKE', markedAt: 1_002 }])
    const newer = encodeBlock([...marks(8, 3), { id: 'x', mark: 'DISLIKE', markedAt: 1_003 }])
    expect(findInBlocks(mergeBlocks([older, newer], []), ['x'])).toEqual([{ id: 'x', mark: 'DISLIKE', markedAt: 1_003 }])
  })

  it('fills the newest block, and returns full blocks as the same objects', () => {
    let blocks = mergeBlocks([], marks(0, 25), { entriesMax: 10 })
    expect(blocks.map((block) => blockHeader(block).likes)).toEqual([5, 10, 10])
    for (let i = 25; i < 100; i += 3) {
      const before = new Set(blocks)
      blocks = mergeBlocks(blocks, marks(i, 3), { entriesMax: 10 })
      expect(blocks.filter((block) => !before.has(block)).length).toBeLessThanOrEqual(2)
      for (const old of before) expect(blocks.some((block) => block !== old && block.equals(old))).toBe(false)
    }
    expect(blocks.map((block) => blockHeader(block).likes)).toEqual([10, 10, 10, 10, 10, 10, 10, 10, 10, 10])
    expect(mergeBlocks(blocks, marks(25, 50), { entriesMax: 10 }).every((block, i) => block === blocks[i])).toBe(true)
  })

  it('rewrites one block for an undo, and joins blocks emptied by undos', () => {
    const undo = (i: number): MarkChange => ({ id: String(i), mark: 'NONE', markedAt: 9_999 })
    const blocks = mergeBlocks([], marks(0, 40), { entriesMax: 10 })
    const once = mergeBlocks(blocks, [undo(15)], { entriesMax: 10 })
    expect(once.map((block) => blocks.includes(block))).toEqual([true, true, false, true])
    const some = mergeBlocks(
      blocks,
      [11, 12, 13, 14, 15, 16, 17, 18, 21, 22, 23, 24].map((i) => undo(i)),
      { entriesMax: 10 },
    )
    expect(some.map((block) => blockHeader(block).likes)).toEqual([10, 8, 10])
    expect(
      mergeBlocks(
        blocks,
        Array.from({ length: 40 }, (_, i) => undo(i)),
        { entriesMax: 10 },
      ),
    ).toEqual([])
  })

  it('splits a block in the middle that exceeds the bound', () => {
    const blocks = mergeBlocks([], marks(0, 40), { entriesMax: 10 })
    const late: MarkChange = { id: 'late', mark: 'DISLIKE', markedAt: 1_015 }
    const merged = mergeBlocks(blocks, [late], { entriesMax: 10 })
    expect(merged.map((block) => decodeBlock(block).length)).toEqual([10, 10, 6, 5, 10])
  })

  it('keeps a mark against older changes, and not against a change of the same time', () => {
    const blocks = mergeBlocks([], [{ id: '7', mark: 'LIKE', markedAt: 100 }])
    expect(mergeBlocks(blocks, [{ id: '7', mark: 'NONE', markedAt: 99 }])).toEqual(blocks)
    expect(mergeBlocks(blocks, [{ id: '7', mark: 'LIKE', markedAt: 100 }])[0]).toBe(blocks[0])
    expect(mergeBlocks(blocks, [{ id: '7', mark: 'NONE', markedAt: 100 }])).toEqual([])
  })

  it('reads only blocks that overlap the page and have marks of the kind', () => {
    const disliked = marks(2_000, 1_000).map((entry): ArchivedMark => ({ ...entry, mark: 'DISLIKE' }))
    const [newest, middle, oldest] = mergeBlocks([], [...marks(0, 2_000), ...disliked]) as [Buffer, Buffer, Buffer]
    const unreadable = [newest, middle, oldest].map(withoutColumns)
    expect(() => decodeBlock(unreadable[0] as Buffer)).toThrow('its columns do not fill it')

    const blocks = [unreadable[2] as Buffer, unreadable[0] as Buffer, middle]
    const page = listFromBlocks(blocks, ['LIKE', 'DISLIKE'], { id: '1500', markedAt: 2_500 }, 3)
    expect(page.map((entry) => entry.id)).toEqual(['1499', '1498', '1497'])
    expect(listFromBlocks(blocks, ['LIKE'], undefined, 2).map((entry) => entry.id)).toEqual(['1999', '1998'])
  })
})

/** A block with a complete header and without its last byte, as no disk would damage it. */
function withoutColumns(block: Buffer): Buffer {
  const short = Buffer.from(block.subarray(0, -1))
  short.writeUInt32BE(crc32(short.subarray(5), short[0]), 1)
  return short
}
