import { describe, expect, test } from 'vitest'
import { fromEnvironment } from '../../cli/process/environment.ts'
import { tlsMistakesOf } from '../../cli/process/tls-settings.ts'
import { makeConfig } from '../../config/config.ts'
import { legacyBusinesses } from '../../config/legacy.ts'

const configOf = (legacy: object) =>
  makeConfig([{ name: 'test', values: { existence: { legacy: { urls: ['redis://old:6379'], ...legacy } } } }])

describe('the settings of the legacy store', () => {
  test('are absent by default, and have defaults once there is an address', () => {
    expect(makeConfig([]).existence.legacy).toBeUndefined()
    expect(configOf({}).existence.legacy).toEqual({
      urls: ['redis://old:6379'],
      ...{ key: 'played:{business}:{viewer}', score: 'ms', writeBack: true, patienceMs: 300, absentMs: 10_000, membersPerSecond: 20_000 },
    })
  })

  test.each([
    [{ key: 'played:{mid}' }, 'existence.legacy.key: '],
    [{ key: 'played:{business}:{viewer}:{foo}' }, 'existence.legacy.key: {foo} stands for nothing: write {viewer}, {business} or {number}'],
    [{ key: '{}:{number}:{viewer}' }, '{} stands for nothing'],
    [{ key: '{{viewer}}:{bussiness}' }, '{bussiness} stands for nothing'],
    [{ key: 'played:{viewer}' }, 'existence.legacy.key "played:{viewer}" is the same for all businesses'],
    [{ businesses: ['vidoe'] }, 'existence.legacy.businesses: "vidoe" is not configured: use video, article, comic'],
    [{ score: 'days' }, 'existence.legacy.score: '],
    [{ urls: [] }, 'existence.legacy.urls: name one address at least, or leave existence.legacy out (set in test)'],
    [{ businesses: [] }, 'existence.legacy.businesses: the list is too short: give 1 or more (set in test)'],
    [{ urls: ['old:6379'] }, 'existence.legacy.urls.0: '],
    [{ membersPerSecond: 0 }, 'existence.legacy.membersPerSecond: '],
    [{ speed: 1 }, 'existence.legacy.speed is not a setting'],
  ])('%j is refused with a sentence', (legacy, sentence) => {
    expect(() => configOf(legacy)).toThrow(sentence)
  })

  test('a key without the business is valid for one business', () => {
    const { existence, businesses } = configOf({ key: 'p:{viewer}', businesses: ['article'] })
    expect(existence.legacy && legacyBusinesses(existence.legacy, businesses).map(({ number }) => number)).toEqual([2])
  })

  test.each(['{{viewer}}:{number}', '{{feed}}:{business}:{viewer}', 'p:{u:{viewer}}:{business}'])(
    'a key may have its own braces: %s',
    (key) => {
      expect(configOf({ key }).existence.legacy?.key).toBe(key)
    },
  )

  test('may come from the environment, and the certificates are checked', () => {
    const source = fromEnvironment({
      TIDEMARK_LEGACY_URL: 'redis://a:1,redis://b:2',
      TIDEMARK_LEGACY_PASSWORD: 'x',
      TIDEMARK_LEGACY_TLS: 'true',
    })
    expect(makeConfig([source]).existence.legacy).toMatchObject({ urls: ['redis://a:1', 'redis://b:2'], password: 'x', tls: {} })
    expect(tlsMistakesOf(configOf({ tls: { ca: 'no certificate' } }))).toEqual([
      expect.stringContaining('existence.legacy.tls.ca: this is not a certificate'),
    ])
  })
})
