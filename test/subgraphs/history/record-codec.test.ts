import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { keyText } from '../../../core/progress-key.ts'
import { decodeProgress, decodeSettings, encodeProgress, encodeSettings } from '../../../subgraphs/history/model/record-codec.ts'
import { REWARD_KINDS, rewardOf } from '../../../core/rewards.ts'
import { tidemark } from '../../../schema/records.js'
import { decodeFlush, decodeReward, encodeFlush, encodeReward } from '../../../writeback/flush-codec.ts'

const whole = fc.oneof(fc.nat(), fc.maxSafeInteger().map(Math.abs))
const int32 = fc.integer({ min: 0, max: 2 ** 31 - 1 })
const text = fc.string({ unit: 'grapheme', maxLength: 12 })
const oid = fc.oneof(
  fc.nat().map(String),
  text.filter((id) => id.length > 0 && Buffer.byteLength(id) <= 64),
)

describe('the record codec', () => {
  it('progress is read back unchanged, with plain numbers below 2^53', () => {
    const record = fc.record(
      {
        viewedAt: whole,
        since: whole,
        rank: whole,
        version: whole,
        position: int32,
        duration: int32,
        device: text,
        finished: fc.boolean(),
        deleted: fc.boolean(),
      },
      { noNullPrototype: true },
    )
    fc.assert(
      fc.property(record, (made) => {
        expect(decodeProgress(encodeProgress(made))).toStrictEqual(made)
      }),
      { numRuns: 2_000 },
    )
  })

  it('settings are read back unchanged', () => {
    const clearedAt = fc.dictionary(fc.integer({ min: 1, max: 65_535 }).map(String), whole, { noNullPrototype: true })
    fc.assert(
      fc.property(fc.boolean(), clearedAt, whole, (paused, cleared, version) => {
        expect(decodeSettings(encodeSettings({ paused, clearedAt: cleared, version }))).toStrictEqual({
          paused,
          clearedAt: cleared,
          version,
        })
      }),
    )
  })

  it('a flush is read back with its region and all its keys', () => {
    const key = fc.record({ viewer: oid, business: fc.integer({ min: 0, max: 65_535 }), oid }, { noNullPrototype: true })
    const keys = fc.uniqueArray(key, { selector: keyText, maxLength: 30 })
    fc.assert(
      fc.property(fc.nat({ max: 16_383 }), keys, (region, made) => {
        const decoded = decodeFlush(encodeFlush({ region, keys: made }))
        expect(decoded.region).toBe(region)
        expect(decoded.keys.map(keyText).toSorted()).toEqual(made.map(keyText).toSorted())
      }),
    )
  })

  it('each key of a flush keeps the day on which its play was staged', () => {
    const key = (oid: string, stagedOn?: number) => ({ viewer: '7', business: 65_535, oid, ...(stagedOn !== undefined && { stagedOn }) })
    const made = [key('1', 20_000), key('2'), key('3', 20_001), key('4', 20_000)]
    const { keys: decoded } = decodeFlush(encodeFlush({ region: 1, keys: made }))
    expect(decoded.toSorted((a, b) => a.oid.localeCompare(b.oid))).toStrictEqual(made)
  })

  it('a reward is read back unchanged', () => {
    for (const kind of REWARD_KINDS) {
      const reward = rewardOf('5', 1, 20_000, kind)
      expect(decodeReward(encodeReward(reward))).toStrictEqual(reward)
    }
  })

  it('a reward written before kinds existed is a reward for a view', () => {
    const { id, viewer, business, day } = rewardOf('5', 1, 20_000)
    const bytes = tidemark.Reward.encode({ id, viewer, business, day }).finish()
    expect(decodeReward(bytes)).toStrictEqual({ id: '20000.5.1', viewer: '5', business: 1, day: 20_000, kind: 'FIRST_VIEW' })
    // The bytes of a reward for a view are unchanged.
    expect(Buffer.from(encodeReward(rewardOf('5', 1, 20_000)))).toEqual(Buffer.from(bytes))
  })

  it('events of one day, viewer and business have different ids per kind, for any viewer id', () => {
    const ids = ['5', '5.1', '5.play', '5.1.play'].flatMap((viewer) =>
      REWARD_KINDS.flatMap((kind) => [1, 11].map((business) => rewardOf(viewer, business, 20_000, kind).id)),
    )
    expect(new Set(ids).size).toBe(24)
  })

  it('a flush with keys that no store accepts is refused', () => {
    expect(() => decodeFlush(encodeFlush({ region: 1, keys: [{ viewer: '', business: 1, oid: '1' }] }))).toThrow('viewer')
    expect(() => decodeFlush(encodeFlush({ region: 1, keys: [{ viewer: '1', business: 1, oid: 'x'.repeat(65) }] }))).toThrow('65 bytes')
    expect(() => decodeFlush(encodeFlush({ region: 1, keys: [{ viewer: '1', business: 65_536, oid: '1' }] }))).toThrow('65536')
  })

  it('truncated bytes throw', () => {
    const bytes = encodeFlush({ region: 1, keys: [{ viewer: '1', business: 1, oid: 'subject' }] })
    expect(() => decodeFlush(bytes.subarray(0, bytes.length - 3))).toThrow()
  })
})
