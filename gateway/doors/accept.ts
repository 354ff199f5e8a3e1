/**
 * Negotiates the media type of an answer. There are two types for a single answer, which differ in the status code of an operation that
 * could not be executed. There is one type for an event stream.
 */
export const JSON_TYPE = 'application/json; charset=utf-8'
const GRAPHQL_TYPE = 'application/graphql-response+json; charset=utf-8'
export type ContentType = typeof JSON_TYPE | typeof GRAPHQL_TYPE

/** `contentType` of a single answer; `stream`: events are accepted; `streamFirst`: and preferred. */
export type Negotiated = { readonly contentType: ContentType | undefined; readonly stream: boolean; readonly streamFirst: boolean }

const REMEMBERED_MAX = 200

/** Caches the parsed headers. Clients send few different values; further values are parsed on every request. */
export function remembering<T>(absent: string, read: (text: string) => T): (text: string | undefined) => T {
  const remembered = new Map<string, T>()
  return (text = absent) => {
    const known = remembered.get(text)
    if (known !== undefined) return known
    const made = read(text)
    if (remembered.size < REMEMBERED_MAX && text.length < 500) remembered.set(text, made)
    return made
  }
}

/**
 * Reads an accept header by RFC 9110, 12.5.1: the most specific entry gives the weight of a type, and weight 0 refuses the type. The type
 * with the highest weight is served. With equal weights, the first named type wins; a wildcard that matches both gives plain JSON.
 */
export const negotiate: (accept: string | undefined) => Negotiated = remembering('*/*', (text) => readAccept(text === '' ? '*/*' : text))

type Entry = { readonly mediaType: string; readonly weight: number; readonly place: number }
type Candidate<T> = { readonly type: T; readonly weight: number; readonly place: number }

function readAccept(accept: string): Negotiated {
  const entries = accept.toLowerCase().split(',').flatMap(readEntry)
  const json = candidateOf<ContentType>(JSON_TYPE, ['application/json', 'application/*', '*/*'], entries)
  const graphql = candidateOf<ContentType>(GRAPHQL_TYPE, ['application/graphql-response+json', 'application/*', '*/*'], entries)
  // Event streams are served only to a client that names the type.
  const stream = candidateOf('stream', ['text/event-stream'], entries)
  const single = first(json, graphql)
  return {
    contentType: single?.type,
    stream: stream !== undefined,
    streamFirst: stream !== undefined && first<unknown>(single, stream) === stream,
  }
}

function readEntry(text: string, place: number): Entry[] {
  const [mediaType = '', ...parameters] = text.replace(/\s/g, '').split(';')
  const named = new Map(parameters.map((parameter): [string, string] => [parameter.split('=', 1)[0] ?? '', valueOf(parameter)]))
  if (!isUtf8Name(named.get('charset'))) return []
  const weight = Number(named.get('q') ?? 1)
  // A weight that is not a number is ignored.
  return [{ mediaType, weight: Number.isNaN(weight) ? 1 : Math.min(Math.max(weight, 0), 1), place }]
}

function candidateOf<T>(type: T, names: readonly string[], entries: readonly Entry[]): Candidate<T> | undefined {
  for (const name of names) {
    const entry = entries.find(({ mediaType }) => mediaType === name)
    if (entry !== undefined) return entry.weight === 0 ? undefined : { type, weight: entry.weight, place: entry.place }
  }
  return undefined
}

/** Returns the type with the higher weight, and the first of two equal types. */
function first<T>(one: Candidate<T> | undefined, other: Candidate<T> | undefined): Candidate<T> | undefined {
  if (one === undefined || other === undefined) return one ?? other
  if (one.weight !== other.weight) return one.weight > other.weight ? one : other
  return other.place < one.place ? other : one
}

function valueOf(parameter: string): string {
  const value = parameter.slice(parameter.indexOf('=') + 1)
  return value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value
}

function isUtf8Name(charset: string | undefined): boolean {
  return charset === undefined || charset === 'utf-8' || charset === 'utf8'
}

const PLAIN_JSON = 'application/json; charset=utf-8'

/** Normalizes the content type for graphql-http: clients write JSON in UTF-8 in many ways, with quotes and in any case. */
export function plainContentType(contentType: string | undefined): string | undefined {
  if (contentType === undefined || contentType === 'application/json') return contentType
  const [mediaType = '', ...parameters] = contentType.toLowerCase().replace(/\s/g, '').split(';')
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))
  return mediaType === 'application/json' && isUtf8Name(charset === undefined ? undefined : valueOf(charset)) ? PLAIN_JSON : contentType
}
