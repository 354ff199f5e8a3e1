/** Rewards of a day from the view of the service that pays them: the API and the command, beside a running service. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStores } from '../../cli/stores/history.ts'
import { makeConfig } from '../../config/config.ts'
import { systemClock } from '../../core/clock.ts'
import { dateOf, dayOf } from '../../core/days.ts'
import { rewardOf } from '../../core/rewards.ts'
import { runCommand } from '../../harness/deployment/command.ts'
import { ask, makeServiceFolder, startService, type Service } from '../../harness/deployment/service.ts'
import { until } from '../../harness/until.ts'
import { openLmdbLog } from '../../writeback/stores/lmdb/log.ts'

const ZONE = 'Pacific/Kiritimati'
const COMMAND = join(import.meta.dirname, '..', '..', 'cli', 'tidemark.ts')
const { folder, remove } = makeServiceFolder()
let service: Service

beforeAll(async () => {
  const settings = { rewards: { timeZone: ZONE, firstView: 'viewer', firstPlay: 'off' } }
  service = await startService({ folder, settings, workers: 2 })
})
afterAll(async () => {
  expect(await service.stop()).toBe(0)
  remove()
})

const report = (viewer: string, business: string) =>
  ask(service.url, viewer, `mutation { reportProgress(input: { business: "${business}", id: "1", position: 60000 }) { firstOfDay } }`)
const issue = (viewer: string) =>
  ask(service.url, viewer, `mutation { recordIssued(input: { business: "video", ids: ["1"] }) { firstOfDay } }`)
const today = () => dateOf(dayOf(ZONE, Date.now()))

/** A line without its cursor, as the event in the API has it. */
const eventsOf = (lines: readonly string[]) =>
  lines.map((line) => {
    const { cursor: _, ...event } = JSON.parse(line) as Record<string, unknown>
    return event
  })

test('the command follows the events of a running service, and a later run continues after a cursor', async () => {
  const before = today()
  const args = ['events', '--follow', '--data', join(folder, 'data'), '--config', join(folder, 'tidemark.yaml')]
  const follower = spawn(process.execPath, [COMMAND, ...args], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(follower, 'exit')
  let out = ''
  follower.stdout.setEncoding('utf8').on('data', (text: string) => void (out += text))
  const lines = () => out.split('\n').slice(0, -1)
  // Two devices at once, in two businesses: one reward.
  await Promise.all([report('7', 'video'), report('7', 'article'), report('7', 'video')])
  await until('the view', () => lines().length >= 1)
  await Promise.all([issue('7'), issue('7')])
  await until('the issue', () => lines().length >= 2)
  await report('8', 'comic')
  await until('the view of another viewer', () => lines().length >= 3)
  follower.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
  const shown = eventsOf(lines())
  // The test may run across midnight.
  expect([before, today()]).toContain(shown[0]?.['date'])
  const date = expect.stringMatching(/^\d{4}-\d\d-\d\d$/) as string
  const id = expect.any(String) as string
  expect(shown).toEqual([
    { id, kind: 'FIRST_VIEW', viewer: '7', business: null, date },
    { id, kind: 'FIRST_ISSUE', viewer: '7', business: 'video', date },
    { id, kind: 'FIRST_VIEW', viewer: '8', business: null, date },
  ])

  const { cursor } = JSON.parse(lines()[0] ?? '') as { cursor: string }
  const rest = await runCommand(folder, [...args.filter((each) => each !== '--follow'), '--after', cursor])
  expect([rest.status, rest.error, eventsOf(rest.out.split('\n').slice(0, -1))]).toEqual([0, '', shown.slice(1)])

  // The API has the same events, page by page, for a service with the scope.
  const pages: unknown[] = []
  let after: string | null = null
  for (let hasNextPage = true; hasNextPage;) {
    const source = `query ($after: String) { rewardEvents(first: 2, after: $after) {
      edges { node { id kind viewer business date } } pageInfo { hasNextPage endCursor } missedCount } }`
    const { data }: { data?: any } = await ask(service.url, 'payer', source, { after }, { 'x-viewer-scopes': 'rewards:read' })
    pages.push(...data.rewardEvents.edges.map(({ node }: { node: unknown }) => node))
    expect(data.rewardEvents.missedCount).toBe(0)
    after = data.rewardEvents.pageInfo.endCursor
    hasNextPage = data.rewardEvents.pageInfo.hasNextPage
  }
  expect(pages).toEqual(shown)
})

test('without the scope, and with a cursor of another list, no event is shown', async () => {
  const refused = await ask(service.url, '7', '{ rewardEvents { missedCount } }')
  expect([refused.data, refused.errors?.[0]?.extensions.code]).toEqual([{ rewardEvents: null }, 'UNAUTHORIZED_FIELD_OR_TYPE'])
  const scoped = (field: string) => ask(service.url, 'payer', `{ ${field} { missedCount } }`, {}, { 'x-viewer-scopes': 'rewards:read' })
  const codes = []
  for (const field of ['rewardEvents(after: "zzzzzz")', 'rewardEvents(after: "?")', 'rewardEvents(first: 0)'])
    codes.push((await scoped(field)).errors?.[0]?.extensions.code)
  expect(codes).toEqual(['CURSOR_INVALID', 'CURSOR_INVALID', 'FIRST_INVALID'])
  const after = (cursor: string) => runCommand(folder, ['events', '--after', cursor, '--data', join(folder, 'data')])
  const [word, foreign] = await Promise.all([after('foo'), after('WzE3OTU1NDQ3NjkxOTZd')])
  const advice = 'give --after the cursor of a printed line, or leave it out to begin with the oldest event that is kept'
  const ahead = 'belongs to no event, because it is ahead of all events'
  expect(word).toEqual({ status: 1, out: '', error: `CURSOR_INVALID: cursor "foo" ${ahead}: ${advice}\n` })
  expect(foreign).toEqual({ status: 1, out: '', error: `CURSOR_INVALID: cursor "WzE3OTU1NDQ3NjkxOTZd" belongs to no event: ${advice}\n` })
})

test('a cursor whose next events are no longer kept ends the command with a sentence, and prints nothing', async () => {
  const old = makeServiceFolder()
  const data = join(old.folder, 'data')
  const silent = { debug() {}, info() {}, warn() {}, error() {} }
  const stores = await openStores(makeConfig([{ name: 'test', values: { stores: { data } } }]), systemClock, silent)
  const log = openLmdbLog(stores.embedded!.environment, systemClock, { rewardsMax: 2 })
  await log.appendRewards([20_000, 20_001, 20_002, 20_003, 20_004].map((day) => rewardOf('7', 1, day)))
  await stores.close()
  const run = (...more: string[]) => runCommand(old.folder, ['events', '--data', data, ...more])
  const days = ({ out }: { out: string }) => eventsOf(out.split('\n').slice(0, -1)).map(({ date }) => date)
  const [all, expired, oldest] = await Promise.all([run(), run('--after', '1'), run('--after', '3')])
  expect([all.status, days(all)]).toEqual([0, ['2024-10-07', '2024-10-08']])
  expect([oldest.status, days(oldest)]).toEqual([0, days(all)])
  const why = '2 events after cursor "1" were removed before they were read'
  const error = `CURSOR_EXPIRED: ${why}: leave out --after to continue with the oldest event that is kept\n`
  expect(expired).toEqual({ status: 1, out: '', error })
  old.remove()
})

test('on Kafka, the command names the topic and connects to nothing', async () => {
  const servers = {
    redis: { urls: ['redis://127.0.0.1:1'] },
    kafka: { brokers: ['127.0.0.1:1'] },
    mysql: { url: 'mysql://u:p@127.0.0.1:1/d' },
  }
  const config = join(folder, 'distributed.yaml')
  writeFileSync(config, JSON.stringify({ stores: servers }))
  expect(await runCommand(folder, ['events', '--config', config])).toEqual({
    status: 1,
    out: '',
    error: 'REWARDS_IN_TOPIC: the reward events of this deployment are in the Kafka topic "tidemark.rewards": read them there\n',
  })
})
