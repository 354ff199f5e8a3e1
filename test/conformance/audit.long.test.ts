/** Tests of the audit itself: a real service passes every check, and a service that breaks a promise fails the right check. */
import { createSecretKey } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { audit, type AuditRun } from '../../cli/audit.ts'
import { makeAudit, type Audit } from '../../conformance/audited.ts'
import { runChecks } from '../../conformance/check.ts'
import type { Identity } from '../../conformance/identity.ts'
import { PATIENT_CHECKS, PROMPT_CHECKS } from '../../conformance/suite.ts'
import { FAULTS } from './audit-faults.ts'
import { startServer } from '../support/front-schema.ts'
import { startFaultyProxy, type FaultyProxy } from './faulty-proxy.ts'
import { runCommand } from '../../harness/deployment/command.ts'
import { ask, makeServiceFolder, startService, type Service } from '../../harness/deployment/service.ts'

const SECRET = 'an audit signs tokens with this key'
const CHECKS = [...PROMPT_CHECKS, ...PATIENT_CHECKS]
const history = { flushAgeMaxMs: 100, sweepAfterMs: 1_000, sweepEveryMs: 200 }
const thumbup = { flushAgeMaxMs: 20, windowMs: 50, countsWindowMs: 20, sweepAfterMs: 1_000, sweepEveryMs: 200 }
const feed = { flushAgeMaxMs: 100, sweepAfterMs: 1_000, sweepEveryMs: 200, noticeEveryMs: 20, countsWindowMs: 50 }
const businesses = [
  { number: 1, name: 'video', entity: 'Video' },
  { number: 2, name: 'article', entity: 'Article', glanceMax: 0 },
  { number: 3, name: 'comic', entity: 'Comic', glanceMax: 0, conflict: 'furthest' },
  { number: 4, name: 'post', entity: 'Post' },
]
const signed: Identity = {
  kind: 'signed',
  key: createSecretKey(Buffer.from(SECRET)),
  algorithm: 'HS256',
  issuer: undefined,
  audience: undefined,
}

const { folder, remove } = makeServiceFolder()
let service: Service
let first: FaultyProxy
let second: FaultyProxy
const optionsOf = (more: Partial<AuditRun> = {}): AuditRun => ({
  url: first.url,
  second: second.url,
  job: undefined,
  identity: { kind: 'headers' },
  business: undefined,
  conflict: 'newest',
  glance: true,
  waitMs: 30_000,
  eventMaxMs: 30_000,
  only: undefined,
  ...more,
})

beforeAll(async () => {
  service = await startService({ folder, settings: { auth: { secret: SECRET }, history, thumbup, feed, businesses } })
  first = await startFaultyProxy(service.url)
  second = await startFaultyProxy(service.url)
})
afterAll(async () => {
  await first.close()
  await second.close()
  await service.stop()
  remove()
})

async function run(more: Partial<AuditRun> = {}): Promise<{ ok: boolean; lines: string[] }> {
  const lines: string[] = []
  return { ok: await audit(optionsOf(more), (line) => lines.push(line)), lines }
}
const unlike = (word: string) => (line: string) => !line.startsWith(word)

test('a gateway that accepts only registered operations is not audited, and the error gives the reason', async () => {
  const enforcing = await startServer({ persisted: { mode: 'enforce' } })
  try {
    await expect(run({ url: enforcing.url })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: `${enforcing.url}/graphql takes registered operations only: give the address of a gateway with another persisted.mode than enforce`,
    })
  } finally {
    await enforcing.close()
  }
})

describe('a service that keeps its promises', () => {
  test('passes every check except the one that needs tokens', async () => {
    const { ok, lines } = await run()
    expect(lines.filter(unlike('ok'))).toEqual([
      expect.stringContaining('skipped  token-expired'),
      'now waiting for the write-back, 30 s at most',
      expect.stringMatching(`^${CHECKS.length} checks in .* s: ${CHECKS.length - 1} ok, 0 failed, 1 skipped$`),
    ])
    expect(ok).toBe(true)
  })

  test('passes every check of the command, with tokens that it signs', async () => {
    const args = ['audit', first.url, '--second', second.url, '--secret', SECRET, '--wait', '30']
    const { status, out } = await runCommand(folder, args, { maxMs: 170_000 })
    const lines = out.trimEnd().split('\n')
    expect(lines.filter((line) => /^(skipped|FAILED)/.test(line))).toEqual([])
    expect(lines.at(-1)).toMatch(new RegExp(`^${CHECKS.length} checks in .* s: ${CHECKS.length} ok, 0 failed, 0 skipped$`))
    expect(status).toBe(0)
  })

  test('passes for a business with the rule furthest and without glances', async () => {
    const { lines } = await run({ business: 'comic', conflict: 'furthest', glance: false, waitMs: 0 })
    const reasons = /token-expired|equal-times|glance-keeps|--wait is 0/
    expect(lines.slice(0, -1).filter((line) => unlike('ok')(line) && !(line.startsWith('skipped') && reasons.test(line)))).toEqual([])
  })

  test('with one token it changes only the data of its own writes', async () => {
    const viewer = 'has watched before'
    await ask(service.url, viewer, 'mutation { reportProgress(input: { business: "video", id: "mine", position: 600000 }) { outcome } }')
    const { SignJWT } = await import('jose')
    const token = await new SignJWT({})
      .setProtectedHeader({ alg: 'HS256' })
      .setSubject(viewer)
      .setExpirationTime('1h')
      .sign(Buffer.from(SECRET))
    const { ok, lines } = await run({ identity: { kind: 'token', token }, waitMs: 0 })
    expect(lines.filter((line) => line.startsWith('FAILED'))).toEqual([])
    expect(ok).toBe(true)
    expect(lines.filter((line) => line.startsWith('ok')).length).toBeGreaterThan(30)
    const { data } = await ask(service.url, viewer, '{ viewerHistory(first: 100) { edges { node { id } } } historySettings { paused } }')
    expect(data).toEqual({ viewerHistory: { edges: [{ node: { id: 'mine' } }] }, historySettings: { paused: false } })
  })

  test('the error names the process whose metrics show the progress of the write-back', async () => {
    const audited = await makeAudit(optionsOf({ job: 'http://127.0.0.1:1', waitMs: 1 }))
    const why = expect.stringContaining('give the address of a process of "job history" with --job')
    expect(await audited.quiet()).toEqual({ kind: 'unknown', why })
    expect(await audited.cleanUp()).toBe(0)
  })

  test('leaves nothing of the audit in any history', async () => {
    const audited = await makeAudit(optionsOf())
    const viewer = await audited.ownViewer()
    await viewer.reportBatch([
      { id: '1', position: 600_000 },
      { id: '2', business: 'article', position: 1 },
    ])
    await viewer.pause()
    expect(await audited.cleanUp()).toBe(0)
    expect(await viewer.oids()).toEqual([])
    expect(await viewer.isPaused()).toBe(false)
  })
})

describe('a service that breaks a promise', () => {
  let audited: Audit
  let withTokens: Audit
  beforeAll(async () => {
    const options = optionsOf({ waitMs: 1_500, eventMaxMs: 800 })
    audited = await makeAudit(options)
    withTokens = await makeAudit({ ...options, identity: signed })
  })
  afterEach(() => {
    first.setFault({})
    second.setFault({})
  })
  afterAll(async () => {
    await audited.cleanUp()
    await withTokens.cleanUp()
  })

  test('every check has a fault that it must detect', () => {
    expect(Object.keys(FAULTS).sort()).toEqual(CHECKS.map((check) => check.id).sort())
    expect(new Set(CHECKS.map((check) => check.id)).size).toBe(CHECKS.length)
  })

  for (const check of CHECKS) {
    for (const fault of FAULTS[check.id] ?? []) {
      test(`${check.id} fails if the service ${fault.name}`, async () => {
        ;(fault.second === true ? second : first).setFault(fault.make())
        const [finding] = await runChecks(check.id === 'token-expired' ? withTokens : audited, [check], 1, () => {})
        expect(finding).toMatchObject({ kind: 'failed', expected: expect.any(String), seen: expect.any(String) })
        expect(finding).not.toMatchObject({ expected: 'answers of the shape that the schema defines' })
      })
    }
  }

  test('the command prints the check, the expected and the seen value, and returns false', async () => {
    const audited = run({ only: ['write-then-lookup', 'health-live'] })
    first.setFault({
      async answer(asked, forward) {
        const answer = await forward(asked)
        if (!/AuditLookup/.test(asked.query)) return answer
        return { ...answer, text: answer.text.replace('"device":"device 0"', '"device":null') }
      },
    })
    const { ok, lines } = await audited
    expect(ok).toBe(false)
    expect(lines).toEqual([
      expect.stringMatching(/^FAILED +write-then-lookup +The point lookup returns an acknowledged report at once\.$/),
      expect.stringMatching(/^ +expected the point lookup right after report 1 was acknowledged to be .*"device":"device 0"/),
      expect.stringMatching(/^ +saw .*"device":null/),
      expect.stringMatching(/^ok +health-live/),
      expect.stringMatching(/^2 checks in .* s: 1 ok, 1 failed, 0 skipped$/),
    ])
  })

  test('an answer of another shape is a failed check, and does not end the audit', async () => {
    first.setFault({ answer: async () => ({ status: 502, contentType: 'text/html', text: '<h1>Bad gateway</h1>', json: undefined }) })
    const findings = await runChecks(audited, CHECKS.slice(0, 3), 2, () => {})
    expect(findings.map((finding) => finding.kind)).toEqual(['failed', 'failed', 'failed'])
  })
})

describe('an audit that cannot run', () => {
  test.each<[string, Partial<AuditRun>, string]>([
    ['an address without a server', { url: 'http://127.0.0.1:9' }, 'SUBGRAPH_UNAVAILABLE'],
    ['no address at all', { url: 'localhost' }, 'CONFIG_INVALID'],
    ['a business that is not configured', { business: 'vidoe' }, 'BUSINESS_UNKNOWN'],
    ['a token that is not valid', { identity: { kind: 'token', token: 'no.such.token' } }, 'UNAUTHENTICATED'],
    ['checks that do not exist', { only: ['writes-are-green'] }, 'CONFIG_INVALID'],
  ])('%s ends with a sentence', async (_, more, code) => {
    await expect(run(more)).rejects.toMatchObject({ code, message: expect.stringMatching(/: \w/) })
  })
})
