import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { makeReplyParser } from '../../cache/memcached/reply-parser.ts'

function parse(chunks: readonly Buffer[]): string[] {
  const replies: string[] = []
  const parser = makeReplyParser({
    onValue: (bytes, keyFrom, keyTo, from, to, flags, unique) =>
      replies.push(`${bytes.toString('latin1', keyFrom, keyTo)} ${flags} ${unique} ${bytes.toString('latin1', from, to)}`),
    onLine: (line) => replies.push(line),
  })
  for (const chunk of chunks) parser(chunk)
  return replies
}

describe('the parser of replies', () => {
  const reply = fc.oneof(
    fc.constantFrom('END', 'STORED', 'VERSION 1.6.18', 'V').map((line) => ({ text: `${line}\r\n`, parsed: line })),
    fc
      .record({
        flags: fc.nat(),
        key: fc.stringMatching(/^[a-z]{1,9}$/),
        unique: fc.nat(1_000_000),
        data: fc.stringMatching(/^[\r\nVE a]{0,40}$/),
      })
      .map(({ key, flags, unique, data }) => ({
        text: `VALUE ${key} ${flags} ${data.length} ${unique}\r\n${data}\r\n`,
        parsed: `${key} ${flags} ${unique} ${data}`,
      })),
  )

  test('the replies do not depend on how the network cuts them', () => {
    fc.assert(
      fc.property(fc.array(reply, { maxLength: 12 }), fc.array(fc.nat(60), { maxLength: 40 }), (replies, cuts) => {
        let rest = Buffer.from(replies.map(({ text }) => text).join(''), 'latin1')
        const chunks: Buffer[] = []
        for (const cut of cuts) {
          chunks.push(rest.subarray(0, cut))
          rest = rest.subarray(cut)
        }
        expect(parse([...chunks, rest])).toEqual(replies.map(({ parsed }) => parsed))
      }),
      { numRuns: 500 },
    )
  })

  test.each([
    { wrong: 'a size that is too small', text: 'VALUE k 0 3 1\r\nabcdefgh\r\n' },
    { wrong: 'flags that are no number', text: 'VALUE k x 3 1\r\nabc\r\n' },
    { wrong: 'a size that is no number', text: 'VALUE k 0 x 1\r\nabc\r\n' },
    { wrong: 'no number of the state', text: 'VALUE k 0 3\r\nabc\r\n' },
    { wrong: 'a size beyond all values', text: 'VALUE k 0 99999999999 1\r\n' },
    { wrong: 'no key', text: 'VALUE\r\n\r\n' },
    { wrong: 'a line without an end', text: 'x'.repeat(5_000) },
    { wrong: 'a key without an end', text: `VALUE ${'x'.repeat(5_000)}` },
  ])('a reply with $wrong is refused', ({ text }) => {
    expect(() => parse([Buffer.from(text)])).toThrow('no reply of Memcached')
  })

  test('no bytes make it fail in another way, or wait without a bound', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 20 }), (chunks) => {
        try {
          parse(chunks.map((chunk) => Buffer.from(chunk)))
        } catch (error) {
          expect(String(error)).toContain('no reply of Memcached')
        }
      }),
      { numRuns: 500 },
    )
  })
})
