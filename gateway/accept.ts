/**
 * Which of the media types a client accepts it gets. Two for a single answer, with different status codes for operations
 * that could not be executed, and one for a stream of them.
 */
export const JSON_TYPE = 'application/json; charset=utf-8'
const GRAPHQL_TYPE = 'application/graphql-response+json; charset=utf-8'
export type ContentType = typeof JSON_TYPE | typeof GRAPHQL_TYPE

/** `contentType` of a single answer; `stream`: events are accepted; `streamFirst`: and preferred. */
export type Negotiated = { readonly contentType: ContentType | undefined; readonly stream: boolean; readonly streamFirst: boolean }

const NEGOTIATED_MAX = 200
const negotiated = new Map<string, Negotiated>()

/** Reads an accept header as graphql-http does: the first that can be served wins, weights are not looked at. */
export function negotiate(accept: string | undefined): Negotiated {
  const text = accept === undefined || accept === '' ? '*/*' : accept
  const known = negotiated.get(text)
  if (known !== undefined) return known
  const made = readAccept(text)
  // Clients send a handful of these. Whoever invents more of them only makes us read them again.
  if (negotiated.size < NEGOTIATED_MAX && text.length < 500) negotiated.set(text, made)
  return made
}

function readAccept(accept: string): Negotiated {
  let contentType: ContentType | undefined
  let stream = false
  let streamFirst = false
  for (const entry of accept.replace(/\s/g, '').toLowerCase().split(',')) {
    const [mediaType, ...parameters] = entry.split(';')
    const charset = parameters.find((parameter) => parameter.includes('charset=')) ?? 'charset=utf-8'
    const utf8 = charset === 'charset=utf-8'
    if (mediaType === 'text/event-stream') {
      stream = true
      streamFirst ||= contentType === undefined
    } else if (mediaType === 'application/graphql-response+json' && utf8) {
      contentType ??= GRAPHQL_TYPE
    } else if (
      (mediaType === 'application/json' || mediaType === 'application/*' || mediaType === '*/*') &&
      (utf8 || charset === 'charset=utf8')
    ) {
      contentType ??= JSON_TYPE
    }
  }
  return { contentType, stream, streamFirst }
}
