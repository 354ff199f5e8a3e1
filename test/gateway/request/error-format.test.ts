import { GraphQLError } from 'graphql'
import { describe, expect, it } from 'vitest'
import { ERRORS, TidemarkError, type ErrorCode } from '../../../core/errors.ts'
import { makeFormatError, statusOf, type Log } from '../../../gateway/request/error-format.ts'

function makeLog() {
  const lines: { fields: Record<string, unknown>; message: string }[] = []
  const write = (fields: Record<string, unknown>, message: string) => void lines.push({ fields, message })
  return { lines, log: { error: write, warn: write, info: write, debug: write } as unknown as Log }
}

function inField(error: Error): GraphQLError {
  return new GraphQLError(error.message, { path: ['feed', 3, 'title'], originalError: error })
}

describe('in production', () => {
  it('a TidemarkError keeps its message and its code, bare or as the cause of a field', () => {
    const format = makeFormatError('production', makeLog().log)
    const error = new TidemarkError('FIRST_INVALID', 'first is 0: send 1 to 100')
    expect(format(error, 'field').toJSON()).toEqual({ message: 'first is 0: send 1 to 100', extensions: { code: 'FIRST_INVALID' } })
    expect(format(inField(inField(error)), 'field').toJSON()).toEqual({
      message: 'first is 0: send 1 to 100',
      path: ['feed', 3, 'title'],
      extensions: { code: 'FIRST_INVALID' },
    })
  })

  it('a store failure shows the client the name of the store, and the log the place and the reason', () => {
    const { lines, log } = makeLog()
    const error = new TidemarkError('HOT_STORE_UNAVAILABLE', 'Redis at 10.0.0.7:6379 does not answer (not connected): try again')
    expect(makeFormatError('production', log)(inField(error), 'field').message).toBe('The hot store does not answer. Try again.')
    expect(lines).toMatchObject([{ fields: { err: error } }])
  })

  it('an error that may pass later is marked as retryable', () => {
    const format = makeFormatError('production', makeLog().log)
    const codes = Object.keys(ERRORS) as ErrorCode[]
    for (const code of codes) {
      expect(format(new TidemarkError(code, 'a sentence'), 'field').extensions['retryable']).toBe(ERRORS[code].retryable ? true : undefined)
    }
  })

  it('any other error shows only an id, and the log has the cause under that id', () => {
    const { lines, log } = makeLog()
    const cause = new Error('password "hunter2" refused by store-7.internal')
    const shown = makeFormatError('production', log)(inField(cause), 'field')
    expect(JSON.stringify(shown)).not.toMatch(/hunter2|store-7|at .*\.ts/)
    expect(shown.extensions).toEqual({ code: 'INTERNAL', retryable: true })
    expect(shown.path).toEqual(['feed', 3, 'title'])
    expect(lines).toHaveLength(1)
    expect(lines[0]?.fields['err']).toBe(cause)
    expect(shown.message).toBe(`internal error, see the server's log with id ${String(lines[0]?.fields['id'])}`)
  })

  it('a thrown value that is no error is formatted too', () => {
    const format = makeFormatError('production', makeLog().log)
    for (const thrown of ['text', 42, null, undefined, Symbol('s')]) expect(format(thrown, 'field').extensions['code']).toBe('INTERNAL')
  })

  it('an error for clients keeps its message and code, but not the stack of a subgraph', () => {
    const format = makeFormatError('production', makeLog().log)
    const made = new GraphQLError('no such movie', {
      extensions: { code: 'MOVIE_UNKNOWN', stacktrace: ['at x'], exception: { stacktrace: ['at x'] } },
    })
    expect(format(made, 'field').toJSON()).toEqual({ message: 'no such movie', extensions: { code: 'MOVIE_UNKNOWN' } })
    const text = { message: 'no such movie', path: ['movie'], extensions: { code: 'MOVIE_UNKNOWN', sql: 'SELECT' } }
    expect(makeFormatError('production', makeLog().log, ['MOVIE_UNKNOWN'])(text, 'field').toJSON()).toEqual({
      message: 'no such movie',
      path: ['movie'],
      extensions: { code: 'MOVIE_UNKNOWN' },
    })
    expect(format(text, 'field').message).toMatch(/^internal error/)
  })

  it('an error of a failed subgraph keeps its code, and hides all details', () => {
    const { lines, log } = makeLog()
    const cause = new Error('connect ECONNREFUSED 10.1.2.3:4001')
    const failed = new GraphQLError('The subgraph "movies" does not answer: connect ECONNREFUSED 10.1.2.3:4001', {
      extensions: { code: 'SUBGRAPH_UNAVAILABLE' },
      originalError: cause,
    })
    const shown = makeFormatError('production', log)(failed, 'field')
    expect(shown.extensions).toEqual({ code: 'SUBGRAPH_UNAVAILABLE', retryable: true })
    expect(shown.message).not.toContain('10.1.2.3')
    expect(lines[0]?.fields['err']).toBe(cause)
  })

  it('an error without a class and a code is internal', () => {
    const format = makeFormatError('production', makeLog().log)
    expect(format({ message: 'password "hunter2" refused' }, 'field').toJSON()).toEqual({
      message: expect.stringContaining('internal error'),
      extensions: { code: 'INTERNAL', retryable: true },
    })
  })

  it('an error about the document without a code is GRAPHQL_VALIDATION_FAILED', () => {
    const format = makeFormatError('production', makeLog().log)
    expect(format(new GraphQLError('Variable "$id" of required type "ID!" was not provided.'), 'request').extensions).toEqual({
      code: 'GRAPHQL_VALIDATION_FAILED',
    })
  })

  it('a message is well-formed and has at most 2,000 characters', () => {
    const format = makeFormatError('production', makeLog().log)
    expect(format(new TidemarkError('ID_INVALID', 'id "a\ud83e…"'), 'request').message).toBe('id "a\ufffd…"')
    expect(format(new GraphQLError('Unknown operation named "\ud800".'), 'request').message).toBe('Unknown operation named "\ufffd".')
    const { message } = format(new GraphQLError(`Value "${'x'.repeat(100_000)}" does not exist.`), 'request')
    expect(message).toMatch(/^Value "x+…$/)
    expect(message).toHaveLength(2_001)
  })

  it('an error that wraps itself is formatted and does not loop', () => {
    const looped = new GraphQLError('round and round')
    Object.defineProperty(looped, 'originalError', { value: looped })
    expect(makeFormatError('production', makeLog().log)(looped, 'field').message).toBe('round and round')
  })
})

it('in development an internal error shows its message, and never its stack', () => {
  const { lines, log } = makeLog()
  const shown = makeFormatError('development', log)(inField(new Error('x is not a function')), 'field')
  expect(shown.message).toContain('x is not a function')
  expect(JSON.stringify(shown)).not.toMatch(/at .*\.ts/)
  expect(lines).toHaveLength(1)
})

it('the status of a failed request is that of its first error', () => {
  for (const code of Object.keys(ERRORS) as ErrorCode[]) {
    expect(statusOf([new GraphQLError('a sentence', { extensions: { code } })])).toBe(ERRORS[code].status)
  }
  expect(statusOf([new GraphQLError('a sentence', { extensions: { code: 'constructor' } })])).toBe(400)
})
