/**
 * Negotiates the content coding of an answer by RFC 9110, 12.5.3. The coding with the highest weight is used. With equal weights our order
 * counts: on real answers zstd is the smallest and the cheapest from 20 KB on, and brotli is cheaper than gzip (bench compression).
 *
 * A client that sends "*" alone gets gzip, which every client can decode.
 */
import { remembering } from './accept.ts'

export const ENCODINGS = ['zstd', 'br', 'gzip'] as const
export type Encoding = (typeof ENCODINGS)[number]

/** `encoding`: the coding to use, or none. `identity`: the client also takes the answer without a coding. */
export type AcceptedEncoding = { readonly encoding: Encoding | undefined; readonly identity: boolean }

type Negotiate = (acceptEncoding: string | undefined) => AcceptedEncoding

export const negotiateEncoding: Negotiate = remembering('', (text) => readAcceptEncoding(text, ENCODINGS))
/** For files that are kept in gzip. */
export const negotiateGzip: Negotiate = remembering('', (text) => readAcceptEncoding(text, ['gzip']))

function readAcceptEncoding(text: string, available: readonly Encoding[]): AcceptedEncoding {
  const weights = new Map(text.toLowerCase().split(',').map(readEntry))
  const any = weights.get('*')
  const weightOf = (encoding: Encoding): number => weights.get(encoding) ?? (encoding === 'gzip' ? (any ?? 0) : 0)
  const highest = Math.max(...available.map(weightOf))
  const best = available.find((encoding) => weightOf(encoding) === highest)
  const named = weights.get('identity')
  return { encoding: highest > 0 && highest >= (named ?? 0) ? best : undefined, identity: (named ?? any) !== 0 }
}

function readEntry(text: string): [name: string, weight: number] {
  const [name = '', ...parameters] = text.split(';').map((part) => part.trim())
  const weight = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1)
  return [name, Number.isNaN(weight) ? 1 : weight]
}
