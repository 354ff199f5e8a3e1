/** The failures after which a command may have been executed. The texts are those of ioredis and of the sockets of Node. */
import { describe, expect, it } from 'vitest'
import { mayHaveRun } from '../../../stores/redis/failures.ts'

describe('a command that failed', () => {
  it.each([
    "Stream isn't writeable and enableOfflineQueue options is false",
    "Cluster isn't ready and enableOfflineQueue options is false",
    'Cluster is ended.',
    'None of startup nodes is available',
    'Too many Cluster redirections. Last error: ReplyError: MOVED 3999 127.0.0.1:6381',
    'connect ECONNREFUSED 127.0.0.1:6379',
    'connect ETIMEDOUT',
    'connect EHOSTUNREACH 10.0.0.9:6379',
    'getaddrinfo ENOTFOUND redis.invalid',
    'getaddrinfo EAI_AGAIN redis.invalid',
  ])('was not executed: %s', (message) => {
    expect(mayHaveRun(new Error(message))).toBe(false)
  })

  it.each([
    'Connection is closed.',
    'Command timed out',
    "Socket timeout. Expecting data, but didn't receive any in 3000ms.",
    'read ETIMEDOUT',
    'read ECONNRESET',
    'write EPIPE',
    'Too many Cluster redirections. Last error: Error: Connection is closed.',
  ])('may have been executed: %s', (message) => {
    expect(mayHaveRun(new Error(message))).toBe(true)
  })
})
