import { Command } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { TextCommand } from '../../../../stores/redis/wire/text-command.ts'

const socket = {}
const long = 'x'.repeat(1_000)

describe('a command as text', () => {
  test.each([
    [['key']],
    [['', 'a', long, 'b'.repeat(127), 'c'.repeat(128)]],
    [['größe', 'a']],
    [['🎬', 'half a pair: \ud83c']],
    [[7, -1.5, 'a']],
    [['a', Buffer.from([0, 255, 13, 10]), 3]],
    [[Buffer.from('a'), Buffer.alloc(0), 'b', Buffer.alloc(1_000, 7)]],
    [['größe', Buffer.from([255])]],
    [[]],
  ])('has the bytes that ioredis would send: %j', (args) => {
    const expected = Buffer.from(new Command('hmget', [...args]).toWritable(socket))
    expect(Buffer.from(new TextCommand('hmget', args).toWritable(socket))).toEqual(expected)
  })

  test('leaves the arguments of the caller unchanged', () => {
    const args = ['a', 7]
    new TextCommand('hmget', args).toWritable(socket)
    expect(args).toEqual(['a', 7])
  })
})
