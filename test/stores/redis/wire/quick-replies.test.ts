import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { QuickDecoder, SlowDecoder } from '../../../../stores/redis/wire/quick-replies.ts'

/** As ioredis maps the types of RESP3 by default. */
const MAPPING = { 43: Buffer, 36: Buffer, 61: Buffer, 40: String, 44: Buffer, 35: Number, 37: Array, 126: Array }

type Parts = (string | Buffer)[]

const bytes = fc.uint8Array({ maxLength: 300 }).map((value) => Buffer.from(value))
const bulk = bytes.map((value): Parts => [`$${value.length}\r\n`, value, '\r\n'])
const line = (...lines: string[]) => fc.constantFrom(...lines).map((text): Parts => [`${text}\r\n`])
const plain = fc.oneof(
  bulk,
  line('_', '$-1', '*-1', ':0', '#t', '#f', '(12345678901234567890', '=7\r\ntxt:a-1', '+OK', '+a-1 2'),
  fc.maxSafeInteger().map((value): Parts => [`:${value}\r\n`]),
  fc.double({ noNaN: true }).map((value): Parts => [`,${value}\r\n`]),
)
const count = (sign: string, values: Parts[], size = values.length): Parts => [`${sign}${size}\r\n`, ...values.flat()]
const { reply: anyReply } = fc.letrec<{ reply: Parts; nested: Parts }>((tie) => ({
  nested: fc.oneof({ depthSize: 'small' }, plain, tie('reply')),
  reply: fc.oneof(
    fc.array(plain, { maxLength: 60 }).map((values) => count('*', values)),
    fc.array(tie('nested'), { maxLength: 5 }).map((values) => count('*', values)),
    fc.array(tie('nested'), { maxLength: 5 }).map((values) => count('~', values)),
    fc.array(fc.tuple(bulk, tie('nested')), { maxLength: 3 }).map((pairs) => count('%', pairs.flat(), pairs.length)),
  ),
}))
const message = fc.oneof(
  anyReply,
  plain,
  line('-ERR no -1 2', '-MOVED 12 127.0.0.1:7', '!5\r\nERR a'),
  fc.array(bulk, { minLength: 1, maxLength: 4 }).map((values) => count('>', values)),
)

type Event = { kind: 'reply' | 'error' | 'push'; value: unknown }

function decode(Decoder: typeof SlowDecoder, chunks: readonly Buffer[], mapping: Record<number, unknown> = MAPPING): Event[] {
  const events: Event[] = []
  const note = (kind: Event['kind']) => (value: unknown) => void events.push({ kind, value })
  const decoder = new Decoder({ getTypeMapping: () => mapping, onReply: note('reply'), onErrorReply: note('error'), onPush: note('push') })
  for (const chunk of chunks) decoder.write(chunk)
  return events
}

/** Chunks of the given lengths, and the rest. */
function cut(stream: Buffer, lengths: readonly number[]): Buffer[] {
  const chunks: Buffer[] = []
  let at = 0
  for (const length of lengths) chunks.push(stream.subarray(at, (at += length)))
  return [...chunks, stream.subarray(at)].filter((chunk) => chunk.length > 0)
}

describe('the quick decoder', () => {
  test('gives the replies of the decoder of ioredis, in the same order, wherever the stream is cut', () => {
    fc.assert(
      fc.property(
        fc.array(message, { maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 80 }), { maxLength: 40 }),
        (messages, lengths) => {
          const stream = Buffer.concat(messages.flat().map((part) => Buffer.from(part)))
          const expected = decode(SlowDecoder, [stream])
          expect(expected).toHaveLength(messages.length)
          expect(decode(QuickDecoder, cut(stream, lengths))).toEqual(expected)
          expect(decode(QuickDecoder, [stream])).toEqual(expected)
        },
      ),
      { numRuns: 500 },
    )
  })

  test('gives the replies of another mapping of types as ioredis does', () => {
    const stream = Buffer.from('*3\r\n$1\r\na\r\n:7\r\n,1.5\r\n')
    const mapping = { ...MAPPING, 58: String, 44: String }
    expect(decode(QuickDecoder, [stream], mapping)).toEqual(decode(SlowDecoder, [stream], mapping))
  })
})
