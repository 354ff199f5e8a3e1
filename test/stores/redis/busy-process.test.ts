/** A process that is busy for longer than the time limits of a command, with a healthy Redis. */
import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { service } from '../../../harness/deployment/services.ts'
import { connect } from '../../../stores/redis/connection.ts'
import { beBusy } from '../../support/busy.ts'

const redis = await service('redis')

describe.skipIf(redis === undefined)('a process that was busy', () => {
  it('reads the answers that wait in its sockets before a command or its connection counts as failed', async () => {
    const connection = connect({ urls: [redis as string], commandTimeoutMs: 50, retryMaxMs: 0 })
    await once(connection.client, 'ready')
    let closed = 0
    connection.client.on('close', () => closed++)
    for (let round = 0; round < 3; round++) {
      const answers = connection.send([{ name: 'echo', args: [`${round}`] }])
      await setImmediate()
      // The limits are 50 ms for a command and 1,050 ms for a silent connection.
      beBusy(1_300)
      expect(await answers).toEqual([Buffer.from(`${round}`)])
    }
    expect(closed).toBe(0)
    connection.close()
  })
})
