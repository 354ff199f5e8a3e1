/** A play that one process acknowledged is hidden in every other one at once, long before it is persisted. */
import { afterEach, describe, expect, test } from 'vitest'
import { startDeployment, type Deployment } from '../../harness/deployment/deployment.ts'
import { ask, makeServiceFolder, startService } from '../../harness/deployment/service.ts'
import { service } from '../../harness/deployment/services.ts'

const REPORT = `mutation ($id: ID!) { reportProgress(input: { business: "video", id: $id, position: 60000 }) { outcome } }`
const UNSEEN = 'query ($ids: [ID!]!) { unseen(business: "video", candidates: $ids) { ids } }'
/** Nothing is persisted during a test. */
const history = { flushAgeMaxMs: 300_000, sweepAfterMs: 900_000 }
const PLAYS = 50
/** Each request uses a separate connection, so that any worker may get it. */
const anew = { connection: 'close' }

const servers = [await service('redis'), await service('kafka'), await service('mariadb')]

/** The number of plays that the process at `reads` shows again. */
async function countShownAgain(writes: string, reads: string): Promise<number> {
  let shownAgain = 0
  for (let play = 0; play < PLAYS; play++) {
    const id = String(play)
    const { data } = await ask(writes, '7', REPORT, { id }, anew)
    expect(data.reportProgress.outcome).toBe('ACCEPTED')
    shownAgain += (await ask(reads, '7', UNSEEN, { ids: [id] }, anew)).data.unseen.ids.length
  }
  expect((await ask(reads, '7', UNSEEN, { ids: ['other'] }, anew)).data.unseen.ids).toEqual(['other'])
  return shownAgain
}

test('with two workers on the embedded stores', async () => {
  const { folder, remove } = makeServiceFolder()
  const started = await startService({ folder, settings: { history }, workers: 2 })
  expect(await countShownAgain(started.url, started.url)).toBe(0)
  await started.stop()
  remove()
})

describe.skipIf(servers.includes(undefined))('on shared servers', () => {
  let deployment: Deployment | undefined
  afterEach(() => deployment?.remove())

  test('history alone and feed existence alone, as two processes', async () => {
    deployment = await startDeployment({ gateways: 0, jobs: 0, subgraphs: 1, seenSubgraphs: 1, settings: { history } })
    const [writes, reads] = [deployment.subgraphs[0], deployment.seenSubgraphs[0]].map((role) => new URL('/', role?.url).href)
    expect(await countShownAgain(writes as string, reads as string)).toBe(0)
  })
})
