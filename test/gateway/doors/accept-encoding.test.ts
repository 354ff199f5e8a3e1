import { expect, it } from 'vitest'
import { negotiateEncoding, negotiateGzip } from '../../../gateway/doors/accept-encoding.ts'

it.each<[string | undefined, string | undefined, boolean]>([
  [undefined, undefined, true],
  ['', undefined, true],
  ['gzip', 'gzip', true],
  ['gzip, deflate, br', 'br', true],
  ['gzip, deflate, br, zstd', 'zstd', true],
  ['GZIP;Q=1', 'gzip', true],
  ['br;q=0.5, gzip;q=0.8', 'gzip', true],
  ['zstd;q=0, br;q=0, gzip', 'gzip', true],
  ['gzip;q=0', undefined, true],
  ['deflate, compress', undefined, true],
  ['*', 'gzip', true],
  ['*;q=0.1', 'gzip', true],
  ['gzip;q=0, *', undefined, true],
  ['identity', undefined, true],
  ['gzip;q=0.5, identity', undefined, true],
  ['gzip, identity', 'gzip', true],
  ['identity;q=0', undefined, false],
  ['identity;q=0, gzip', 'gzip', false],
  ['identity;q=0, *', 'gzip', false],
  ['*;q=0', undefined, false],
  ['*;q=0, br', 'br', false],
  ['*;q=0, identity', undefined, true],
  ['gzip ; q=0.0 , identity ; q=0.000', undefined, false],
  ['gzip;q=none', 'gzip', true],
  [',;,q=1,', undefined, true],
])('accept-encoding %j gets the coding %j, and no coding is acceptable: %j', (header, encoding, identity) => {
  expect(negotiateEncoding(header)).toEqual({ encoding, identity })
})

it('a file that is kept in gzip is sent in gzip to a client that prefers another coding', () => {
  expect(negotiateGzip('gzip, br, zstd').encoding).toBe('gzip')
  expect(negotiateGzip('br, zstd').encoding).toBeUndefined()
})
