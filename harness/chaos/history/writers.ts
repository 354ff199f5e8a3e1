/**
 * Viewers of a site under faults. Each lane writes and reads as its own viewers, one call after the other, and repeats a call at another
 * gateway until it is answered. Acknowledged writes go into the ledger. A read that is not degraded must show every write that the hot
 * store had acknowledged before the read began.
 */
import { randomBelow } from '../../../core/random.ts'
import type { Role } from '../../deployment/role.ts'
import type { Call } from '../calls.ts'
import { makeLane, runLane, type Lane, type RunningLane } from '../lane.ts'
import { DELETED, REPORTED, type Ledger } from './ledger.ts'

export type WriterOptions = {
  seed: number
  /** Concurrent calls. */
  lanes: number
  viewers: number
  /** Subjects that a viewer watches repeatedly. */
  subjects: number
  /** Milliseconds between two calls of a lane, at most. */
  pauseMaxMs: number
  /** Called after every call. */
  onCall(call: Call): void
  /** Reports a wrong answer as a sentence. */
  onWrong(sentence: string): void
}

export type Writers = {
  /** Resolves when the last call was answered. Rejects if no gateway answers in 30 s. */
  stop(): Promise<void>
}

const BATCH = 20
const LOOKUPS_MAX = 50

const ANSWERED = '{ outcome userErrors { code message } subject { viewerProgress { position } } }'
const REPORT_BATCH = `mutation ($reports: [ReportProgressInput!]!) { reportProgressBatch(input: { reports: $reports }) { results ${ANSWERED} } }`
const REPORT_ONE = `mutation ($input: ReportProgressInput!) { reportProgress(input: $input) ${ANSWERED} }`
const DELETE = 'mutation ($ids: [ID!]!) { deleteHistory(input: { business: "article", ids: $ids }) { deletedIds userErrors { code } } }'
const LOOK_UP = 'query ($ids: [ID!]!) { subjects(business: "video", ids: $ids) { viewerProgress { position } } }'
/** More entries than the hot timeline holds. The rest is in the record store. */
const PAGE =
  'query ($businesses: [String!]) { viewerHistory(businesses: $businesses, first: 100) { edges { node { id viewerProgress { position } } } } }'

type Subject = { viewerProgress: { position: number } | null }
type Outcome = { outcome: string; userErrors: { code: string; message: string }[]; subject: Subject | null }
type Page = { viewerHistory: { edges: { node: Subject & { id: string } }[] } }

export function startWriters(gateways: readonly Role[], ledger: Ledger, options: WriterOptions): Writers {
  const lanes = Array.from({ length: options.lanes }, (_, number) => startLane(makeLane(gateways, number, options), ledger, options))
  return {
    async stop() {
      await Promise.all(lanes.map((lane) => lane.stop()))
    },
  }
}

function startLane(lane: Lane, ledger: Ledger, options: WriterOptions): RunningLane {
  const { insist } = lane
  let deletions = 0

  async function report(viewer: string, size: number): Promise<void> {
    const inputs = Array.from({ length: size }, () => ledger.attempt(viewer, String(randomBelow(lane.random, options.subjects))))
    const { outcomes, degraded } = size === 1 ? await reportOne(viewer, inputs) : await reportBatch(viewer, inputs)
    outcomes.forEach(({ outcome, userErrors: [mistake], subject }, index) => {
      const { id, position } = inputs[index] as (typeof inputs)[number]
      // A repeated batch, here or in the service, meets its own newer report of the subject.
      const isSuperseded = inputs.findLastIndex((input) => input.id === id) > index
      if (outcome === 'ACCEPTED') {
        ledger.acknowledge(viewer, id, position, !degraded.has('hotStore'))
        complain(viewer, id, position, subject?.viewerProgress?.position, 'the answer')
      } else if (outcome !== 'STALE' || !isSuperseded)
        options.onWrong(
          `viewer ${viewer}, subject ${id}: the newest report was ${outcome}: ${mistake?.code ?? ''} ${mistake?.message ?? ''}`,
        )
    })
  }

  async function reportOne(viewer: string, inputs: readonly object[]) {
    const { data, degraded } = await insist<{ reportProgress: Outcome }>('report', viewer, REPORT_ONE, { input: inputs[0] })
    return { outcomes: [data.reportProgress], degraded }
  }

  async function reportBatch(viewer: string, inputs: readonly object[]) {
    const { data, degraded } = await insist<{ reportProgressBatch: { results: Outcome[] } }>('batch', viewer, REPORT_BATCH, {
      reports: inputs,
    })
    return { outcomes: data.reportProgressBatch.results, degraded }
  }

  async function reportAndDelete(viewer: string): Promise<void> {
    const oid = `${lane.number}.${deletions++}`
    const written = { viewer, oid, acknowledged: false }
    ledger.deleted.push(written)
    await insist('report', viewer, REPORT_ONE, { input: { business: DELETED, id: oid, position: 1 } })
    await insist('delete', viewer, DELETE, { ids: [oid] })
    written.acknowledged = true
  }

  async function lookUp(viewer: string): Promise<void> {
    const known = ledger.entriesOf(viewer).map(({ oid, firm }) => ({ oid, firm }))
    const asked = known.slice(0, LOOKUPS_MAX)
    if (asked.length === 0) return
    const { data, degraded } = await insist<{ subjects: Subject[] }>('lookup', viewer, LOOK_UP, {
      ids: asked.map(({ oid }) => oid),
    })
    if (degraded.size > 0) return
    asked.forEach(({ oid, firm }, index) => complain(viewer, oid, firm, data.subjects[index]?.viewerProgress?.position, 'a lookup'))
  }

  async function readPage(viewer: string): Promise<void> {
    const known = ledger.entriesOf(viewer).map(({ oid, firm }) => ({ oid, firm }))
    const { data, degraded } = await insist<Page>('page', viewer, PAGE, { businesses: [REPORTED] })
    if (degraded.size > 0) return
    const nodes = data.viewerHistory.edges.map((edge) => edge.node)
    const found = new Map(nodes.map((node) => [node.id, node.viewerProgress?.position]))
    if (found.size < nodes.length) options.onWrong(`viewer ${viewer}: a page shows a subject twice`)
    for (const { oid, firm } of known) complain(viewer, oid, firm, found.get(oid), 'a page')
  }

  function complain(viewer: string, oid: string, firm: number, position: number | undefined, where: string): void {
    if (firm === 0 || (position ?? 0) >= firm) return
    options.onWrong(`viewer ${viewer}, subject ${oid}: ${where} shows ${position ?? 'nothing'} after ${firm} was acknowledged`)
  }

  return runLane(lane, options.pauseMaxMs, async () => {
    // A viewer belongs to one lane, so that the reports of a viewer are sent one after the other.
    const viewer = String(1 + lane.number + options.lanes * randomBelow(lane.random, Math.ceil(options.viewers / options.lanes)))
    const dice = lane.random()
    if (dice < 0.5) await report(viewer, BATCH)
    else if (dice < 0.65) await report(viewer, 1)
    else if (dice < 0.8) await lookUp(viewer)
    else if (dice < 0.93) await readPage(viewer)
    else await reportAndDelete(viewer)
  })
}
