/**
 * The audited deployment: its address, the business to test, and the audit's own viewers. Every check gets a viewer with
 * an empty history, so checks can run concurrently. All these viewers are cleared at the end.
 *
 * Times are the deployment's: the audit derives its clock from the answer to a report without a time. A machine with a
 * wrong clock can therefore audit.
 */
import { randomBytes, randomInt } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { TidemarkError, isTidemarkError } from '../core/errors.ts'
import { readMetrics } from './api-client.ts'
import { headersOf, type Identity } from './identity.ts'
import { CheckFailed, CheckSkipped, expectEqual } from './outcome.ts'
import type { MarkInput } from './operations.ts'
import { makeUndoList } from './undo.ts'
import { makeViewer, type AuditViewer } from './viewer.ts'
import type { ConflictRule } from '../core/domain.ts'

export type AuditOptions = {
  /** The address of the API. */
  url: string
  /** The address of another process of the same deployment. */
  second: string | undefined
  /** The address of a process that persists, if `url` does not. The audit reads its metrics. */
  job: string | undefined
  identity: Identity
  /** Default: the first configured business of BUSINESSES. */
  business: string | undefined
  /** The conflict rule of the business. */
  conflict: ConflictRule
  /** Does the business treat a report of position 0 as a glance? */
  glance: boolean
  /** Milliseconds to wait for the write-back. 0: skip the checks that depend on it. */
  waitMs: number
  /** Milliseconds that an event may take from a change to a subscriber. */
  eventMaxMs: number
}

/** The write-back has drained; it has something left; or the audit cannot tell and has waited the whole time. */
export type Quiet = { kind: 'drained' } | { kind: 'left'; what: string } | { kind: 'unknown'; why: string }

export type Audit = Awaited<ReturnType<typeof makeAudit>>

/** Tried in this order if no business is named. The second configured one serves the checks that need two. */
const BUSINESSES = ['video', 'article', 'comic', 'audio']
/** Greater than the glance limit of any business. */
export const REAL_POSITION = 600_000
const LOOK_EVERY_MS = 250
const ASK_EVERY_MS = 100

/** Throws if the deployment cannot be audited: it does not answer, rejects the viewer, or does not have the business. */
export async function makeAudit(options: AuditOptions) {
  const { url, identity } = options
  const run = randomBytes(5).toString('hex')
  const viewers: AuditViewer[] = []
  const undos = makeUndoList()
  let made = 0

  async function makeOne(business: string, scopes: readonly string[] = []): Promise<AuditViewer> {
    const id = `audit-${run}-${++made}`
    return makeViewer(url, id, await headersOf(identity, id, scopes), business)
  }

  const probes = await probeBusinesses(url, options.business, async (business) => {
    const viewer = await makeOne(business)
    viewers.push(viewer)
    return viewer
  })
  const [main, other] = probes
  const { business } = main
  const ahead = main.serverNow - Date.now()
  const { edges } = await main.viewer.history({ businesses: [business], first: 1 })
  const entity = edges[0]?.node.__typename
  if (entity === undefined)
    throw new TidemarkError('INTERNAL', `${url} acknowledged a report but shows an empty history: check that all stores run`)
  // All checks share the one viewer of a token, and one set of the ids it reported.
  const tokenViewer =
    identity.kind === 'token' ? makeViewer(url, 'the viewer of the token', main.viewer.headers, business, main.viewer.written) : undefined

  return {
    url,
    business,
    entity,
    conflict: options.conflict,
    glance: options.glance,
    eventMaxMs: options.eventMaxMs,
    identity,
    /** The clock of the deployment, in ms. */
    now: () => Date.now() + ahead,
    newOid: () => String(randomInt(2 ** 40, 2 ** 47)),
    /** A viewer with an empty history. */
    async ownViewer(scopes: readonly string[] = []): Promise<AuditViewer> {
      if (tokenViewer !== undefined)
        throw new CheckSkipped('needs a viewer with an empty history: give --secret or --private-key instead of --token')
      const viewer = await makeOne(business, scopes)
      viewers.push(viewer)
      return viewer
    },
    /** For checks that look only at subjects of their own: any viewer is suitable. */
    async anyViewer(): Promise<AuditViewer> {
      return tokenViewer ?? this.ownViewer()
    },
    /** An anonymous caller. */
    nobody: makeViewer(url, 'nobody', {}, business),
    otherBusiness(): string {
      if (other !== undefined) return other.business
      throw new CheckSkipped(`needs a second business beside ${business}; none of ${BUSINESSES.join(', ')} is configured`)
    },
    second(): string {
      if (options.second !== undefined) return options.second
      throw new CheckSkipped('needs another process of the deployment: give its address with --second')
    },
    /** Waits until everything written before this call is in the record store, as far as the metrics show it. */
    async quiet(): Promise<Quiet> {
      if (options.waitMs === 0) throw new CheckSkipped('needs to wait for the write-back, and --wait is 0')
      return waitUntilQuiet(url, options.job ?? url, options.waitMs)
    },
    /** Repeats the read until it gives `expected`: all viewers see a change only some windows later. Throws CheckFailed after `waitMs`. */
    async settled<T>(what: string, read: () => Promise<T>, expected: T): Promise<void> {
      if (options.waitMs === 0) throw new CheckSkipped('needs to wait until all viewers see the change, and --wait is 0')
      await askUntil(what, read, expected, options.waitMs)
    },
    /** Milliseconds that `settled` waits at most. */
    waitMs: options.waitMs,
    /** Notes marks to undo at the end. */
    noteMarks: (viewer: AuditViewer, inputs: readonly MarkInput[]) => undos.noteMarks(viewer, inputs, business),
    /** Notes a call that removes something of this viewer at the end. Calls of a viewer run one after the other. */
    undoAtEnd: undos.add,
    /** Removes everything the audit wrote. Resolves to the number of viewers that could not be cleared. */
    async cleanUp(): Promise<number> {
      if (tokenViewer !== undefined) return (await isDone(Promise.all(probes.map((each) => deleteWritten(each.viewer))))) ? 0 : 1
      const clearing = probes.map(
        (each, index) => `b${index}: clearHistory(input: { business: ${JSON.stringify(each.business)} }) { clearedAt }`,
      )
      const text = `mutation AuditCleanUp { ${clearing.join(' ')} updateHistorySettings(input: { paused: false }) { settings { paused } } }`
      const done = await Promise.all([...viewers.map((viewer) => isDone(viewer.data(text))), ...undos.run().map(isDone)])
      return done.filter((each) => !each).length
    },
  }
}

type Probe = { business: string; viewer: AuditViewer; serverNow: number }

/** The business to audit, and a second one if another is configured. `named` comes first. */
async function probeBusinesses(
  url: string,
  named: string | undefined,
  makeViewerOf: (business: string) => Promise<AuditViewer>,
): Promise<[Probe, ...Probe[]]> {
  const tried = named === undefined ? BUSINESSES : [named, ...BUSINESSES]
  const probes: Probe[] = []
  for (const business of new Set(tried)) {
    const viewer = await makeViewerOf(business)
    const serverNow = await probe(viewer)
    if (serverNow !== undefined) probes.push({ business, viewer, serverNow })
    else if (business === named) break
    if (probes.length === 2) break
  }
  const [main, ...others] = probes
  if (main === undefined)
    throw new TidemarkError('BUSINESS_UNKNOWN', `${url} knows none of ${tried.join(', ')}: name one that is configured with --business`)
  return [main, ...others]
}

/** The time of the deployment; undefined if the business is not configured. */
async function probe(viewer: AuditViewer): Promise<number | undefined> {
  try {
    const { outcome, code, message, progress } = await viewer.report({ id: String(randomInt(2 ** 47)), position: REAL_POSITION })
    if (code === 'BUSINESS_UNKNOWN') return undefined
    if (progress !== null) return progress.viewedAt
    throw new TidemarkError('BAD_REQUEST', `${viewer.url} answered a report with ${outcome}: ${message ?? 'is the history paused?'}`)
  } catch (error) {
    if (isTidemarkError(error) || !(error instanceof CheckFailed)) throw error
    if (error.seen.startsWith('UNAUTHENTICATED'))
      throw new TidemarkError(
        'UNAUTHENTICATED',
        `${viewer.url} does not accept the audit's viewers (${error.seen}): give --secret, --private-key or --token`,
      )
    throw new TidemarkError(
      'SUBGRAPH_UNAVAILABLE',
      `${viewer.url} cannot be audited: expected ${error.expected}, saw ${error.seen}; is this the address of the API?`,
    )
  }
}

async function waitUntilQuiet(url: string, job: string, maxMs: number): Promise<Quiet> {
  const until = Date.now() + maxMs
  let reports: number | undefined
  for (;;) {
    const metrics = await readMetrics(job).catch(() => undefined)
    const dirty = metrics?.get('tidemark_dirty_keys')
    const lag = metrics?.get('tidemark_log_lag_messages')
    if (dirty === undefined || lag === undefined) {
      await wait(Math.max(0, until - Date.now()))
      return {
        kind: 'unknown',
        why: `${new URL('/metrics', job).href} does not show the backlog of the write-back: give the address of a process of "job history" with --job`,
      }
    }
    if (dirty === 0 && lag === 0) return { kind: 'drained' }
    if (Date.now() >= until) {
      const now = await countReports(url)
      if (now !== reports) return { kind: 'unknown', why: 'other clients write at the same time, so the backlog is never empty' }
      return { kind: 'left', what: `${dirty} dirty keys and ${lag} flush messages after ${maxMs / 1_000} s` }
    }
    // Counted in the second half only: by then the checks that do not wait have ended.
    if (reports === undefined && Date.now() > until - maxMs / 2) reports = await countReports(url)
    await wait(LOOK_EVERY_MS)
  }
}

async function askUntil<T>(what: string, read: () => Promise<T>, expected: T, maxMs: number): Promise<void> {
  for (const until = performance.now() + maxMs; ; await wait(ASK_EVERY_MS)) {
    const isLast = performance.now() >= until
    const seen = await read()
    if (isDeepStrictEqual(seen, expected)) return
    if (isLast) expectEqual(`${what}, for ${maxMs / 1_000} s,`, seen, expected)
  }
}

async function countReports(url: string): Promise<number | undefined> {
  return (await readMetrics(url).catch(() => undefined))?.get('tidemark_reports_total')
}

async function deleteWritten(viewer: AuditViewer): Promise<void> {
  const ids = [...viewer.written]
  for (let i = 0; i < ids.length; i += 200) await viewer.deleteHistory(ids.slice(i, i + 200))
}

function isDone(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  )
}
