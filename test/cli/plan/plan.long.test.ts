/** The plan of a small site, compared with a real deployment of it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { logBytes, redisBytes } from '../../../cli/plan/estimate.ts'
import { FIGURES } from '../../../cli/plan/figures.ts'
import { flowOf } from '../../../cli/plan/flow.ts'
import { service } from '../../../harness/deployment/services.ts'
import { startSmallSite, type Load } from '../../../harness/planning/small-site.ts'

const SITE = { viewers: 400, recordsEach: 50, windowMs: 1_000 }
const LANES = 16
/** Without a pause, the load takes all processors of a small machine, and windows end late. The plan has sites with room. */
const PAUSE_MS = 100

const load: Load = async (url, headers, body, seconds) => {
  const begun = performance.now()
  let requests = 0
  const lane = async (): Promise<void> => {
    while (performance.now() - begun < seconds * 1_000) {
      const text = body()
      if (text === undefined) return
      const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: text })
      const got = await answer.text()
      if (got.includes('"errors"') || got.includes('REJECTED')) throw new Error(`a call failed: ${got.slice(0, 300)}`)
      requests++
      await sleep(PAUSE_MS)
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  return { requests, seconds: (performance.now() - begun) / 1_000 }
}

const within = (planned: number, measured: number): number => Math.max(planned, measured) / Math.min(planned, measured)

const places = [await service('redis'), await service('kafka'), await service('mariadb')]

it.skipIf(places.includes(undefined))('messages, rows, memory and disk of a small site are within 25% of its plan', async () => {
  const site = await startSmallSite(SITE, load)
  try {
    const stored = await site.used()
    const { reports, seconds, flowed } = await site.report(12)
    const used = await site.used()
    const records = SITE.viewers * SITE.recordsEach
    const { config } = site.deployment
    const flow = flowOf({ reports: reports / seconds, watching: records }, 1, config)
    expect(within(flow.messagesPerSecond * seconds, flowed.messages)).toBeLessThan(1.25)
    expect(within(flow.rowsPerSecond * seconds, flowed.rows)).toBeLessThan(1.25)
    expect(flowed.statements).toBeLessThan(flow.statementsPerSecond * seconds * 1.25)
    const planned = redisBytes({ viewers: SITE.viewers, records: SITE.recordsEach, likesStored: 0, subjects: 0 }, config)
    expect(within(planned, stored.redisBytes - site.empty.redisBytes)).toBeLessThan(1.25)
    expect(within(records * FIGURES.mysqlBytesPerRecord.value, stored.mysqlBytes)).toBeLessThan(1.25)
    expect(used.kafkaBytes - stored.kafkaBytes).toBeLessThan(logBytes(flowed.messages, flowed.keys))
  } finally {
    await site.remove()
  }
})
