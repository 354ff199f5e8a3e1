/**
 * The checks of client input. Each rule about a single input is here, and throws a `TidemarkError` that says how to correct the input.
 */
import type { ViewerId } from '../../core/domain.ts'
import { shortened, TidemarkError, type ErrorCode } from '../../core/errors.ts'
import { checkId, ID_BYTES_MAX } from '../../core/keys.ts'
import type { PostDraft } from './model/post.ts'
import { isPostId, type PostId } from './packed/post-id.ts'

/** `PublishPostInput` of the schema, after the gateway coerced it. */
export type PublishPostInput = {
  clientKey: string
  text: string
  media: readonly string[]
  source?: string | null
  audience?: readonly string[] | null
}

/** `CountEventInput` of the schema. */
export type CountEventInput = { key: string; id: string; counter: 'COMMENT' | 'READ'; delta: number }

const TEXT_MAX = 2_000
const MEDIA_MAX = 9
const MEDIA_LENGTH_MAX = 500
const AUDIENCE_MAX = 1_000
const WORDS_MAX = 100
const WORD_MAX = 50
const DELTA_MAX = 1_000_000

/** The draft for an input. Throws with the code for the payload. The source is checked later: see `write/service.ts`. */
export function checkPublish(input: PublishPostInput, author: ViewerId): PostDraft {
  checkKey(input.clientKey, 'clientKey')
  checkText(input.text)
  input.media.forEach(checkMedia)
  if (input.media.length > MEDIA_MAX)
    throw wrong('MEDIA_INVALID', `${input.media.length} media are too many: send at most ${MEDIA_MAX}`, 'media')
  const source = input.source ?? undefined
  if (source !== undefined) checkId(source, 'source')
  if (input.text.trim() === '' && input.media.length === 0 && source === undefined)
    throw wrong('TEXT_INVALID', 'text is blank, and media and source are missing: send at least one of the three', 'text')
  return { author, text: input.text, media: input.media, source, audience: audienceOf(input.audience), clientKey: input.clientKey }
}

function checkText(text: string): void {
  // Only a long text needs the exact count.
  if (text.length > TEXT_MAX && lengthOf(text) > TEXT_MAX)
    throw wrong('TEXT_INVALID', `text has ${lengthOf(text)} characters: send at most ${TEXT_MAX}`, 'text')
  if (!text.isWellFormed()) throw wrong('TEXT_INVALID', 'text has half a surrogate pair: send well-formed Unicode', 'text')
}

function checkMedia(address: string, at: number): void {
  const url = address.length <= MEDIA_LENGTH_MAX && address.isWellFormed() ? URL.parse(address) : null
  if (url?.protocol === 'https:') return
  const mistake = `media[${at}] "${shortened(address, 40)}" is not valid: send an https URL of at most ${MEDIA_LENGTH_MAX} characters`
  throw wrong('MEDIA_INVALID', mistake, 'media', String(at))
}

function audienceOf(ids: readonly string[] | null | undefined): ViewerId[] | undefined {
  if (ids === null || ids === undefined) return undefined
  if (ids.length === 0 || ids.length > AUDIENCE_MAX)
    throw wrong(
      'AUDIENCE_INVALID',
      `audience has ${ids.length} ids: send 1 to ${AUDIENCE_MAX}, or leave it out to publish for everybody`,
      'audience',
    )
  ids.forEach((id, at) => checkId(id, 'audience', at))
  return [...new Set(ids)]
}

function checkKey(key: string, field: string): void {
  const bytes = Buffer.byteLength(key)
  if (bytes === 0 || bytes > ID_BYTES_MAX)
    throw wrong('KEY_INVALID', `${field} has ${bytes} bytes: send 1 to ${ID_BYTES_MAX} bytes of UTF-8, such as a UUID`, field)
  if (!key.isWellFormed()) throw wrong('KEY_INVALID', `${field} has half a surrogate pair: send well-formed Unicode`, field)
}

/** The distinct words. Throws FILTER_WORDS_INVALID. */
export function checkWords(words: readonly string[]): string[] {
  if (words.length > WORDS_MAX)
    throw wrong('FILTER_WORDS_INVALID', `${words.length} words are too many: send at most ${WORDS_MAX}`, 'words')
  words.forEach((word, at) => {
    if (word.trim() !== '' && lengthOf(word) <= WORD_MAX && word.isWellFormed()) return
    throw wrong(
      'FILTER_WORDS_INVALID',
      `words[${at}] "${shortened(word, 16)}" is not valid: send 1 to ${WORD_MAX} characters, not only blanks`,
      'words',
      String(at),
    )
  })
  return [...new Set(words)]
}

/** Throws with the code for the result. */
export function checkCountEvent(event: CountEventInput, regions: number): void {
  checkKey(event.key, 'key')
  checkId(event.id, 'id')
  if (!isPostId(event.id, regions)) throw uncountedPost(event.id)
  if (event.delta !== 0 && Math.abs(event.delta) <= DELTA_MAX) return
  throw wrong('DELTA_INVALID', `delta ${event.delta} is not valid: send a whole number from -${DELTA_MAX} to ${DELTA_MAX}, not 0`, 'delta')
}

/** In code points: a pair of surrogates is one character. */
function lengthOf(text: string): number {
  return Array.from(text).length
}

/** The same for every reason, so that nobody learns of a post that is for others. */
export function unknownPost(id: PostId, field: string): TidemarkError {
  return wrong(
    'POST_UNKNOWN',
    `there is no post "${shortened(id, 20)}" for this viewer: send the id of a post that the viewer can read`,
    field,
  )
}

/** For a service, which may count events of every post: restricted ones too, but no deleted ones. */
export function uncountedPost(id: PostId): TidemarkError {
  const advice = 'send the id that publishPost returned, or drop the event if the post is deleted'
  return wrong('POST_UNKNOWN', `post "${shortened(id, 20)}" does not exist: ${advice}`, 'id')
}

function wrong(code: ErrorCode, message: string, ...path: readonly string[]): TidemarkError {
  return new TidemarkError(code, message, { path })
}
