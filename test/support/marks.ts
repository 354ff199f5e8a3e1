/** Marks of all shapes for property tests of the archive's blocks. */
import fc from 'fast-check'
import type { ArchivedMark } from '../../subgraphs/thumbup/archive/block.ts'

const integers = fc.oneof(
  fc.nat().map(String),
  fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map(String),
  fc.bigInt({ min: 2n ** 52n - 3n, max: 2n ** 52n + 3n }).map(String),
  fc.bigInt({ min: 2n ** 63n - 3n, max: 2n ** 63n + 3n }).map(String),
  fc.constantFrom('0', '999999999999', '1000000000000', '4503999999999999', '5000000000000000', '007', '00'),
)
const texts = fc.oneof(
  fc.string({ minLength: 1, maxLength: 64 }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
  fc.string({ unit: fc.constantFrom('😀', '😁', 'é', 'a', '文'), minLength: 1, maxLength: 5 }),
  fc.uuid().map((uuid) => `video:${uuid}`),
)

export const anyId = fc.oneof(integers, texts).filter((text) => text.isWellFormed() && Buffer.byteLength(text) <= 64)

/** Few times, so that many are equal, and all possible times. */
export const anyTime = fc.oneof(
  fc.nat({ max: 5 }),
  fc.nat({ max: 20_000 }).map((day) => day * 86_400_000),
  fc.integer({ min: 1_500_000_000_000, max: 1_800_000_000_000 }),
  fc.maxSafeNat(),
)

const anyEntry: fc.Arbitrary<ArchivedMark> = fc.record(
  { id: anyId, mark: fc.constantFrom('LIKE', 'DISLIKE'), markedAt: anyTime },
  { noNullPrototype: true },
)

export const anyEntries = fc.uniqueArray(anyEntry, { minLength: 1, maxLength: 60, selector: (entry) => entry.id })
