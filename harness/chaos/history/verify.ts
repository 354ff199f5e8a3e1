/** The checks after quiet: every acknowledged report must be readable through the API and stored in the record store. */
import type { Role } from '../../deployment/role.ts'
import type { RecordStore } from '../../../subgraphs/history/stores/record-store.ts'
import { call, type Call } from '../calls.ts'
import { DELETED, REPORTED, lossOf, type Found, type Ledger } from './ledger.ts'

export type Verification = {
  /** Sentences. Empty if no entry is lost, stale or torn, and no deleted entry is back. */
  losses: string[]
  keys: number
  rows: number
  expectedRows: number
}

const VIDEO = 1
const ARTICLE = 2
const CALLS_AT_ONCE = 4

type Page = { edges: { node: { id: string; viewerProgress: Found } }[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } }

const PAGE = `query ($businesses: [String!], $after: String) {
  viewerHistory(businesses: $businesses, first: 100, after: $after) {
    edges { node { id viewerProgress { position viewedAt } } }
    pageInfo { hasNextPage endCursor }
  }
}`

export async function verify(gateways: readonly Role[], records: RecordStore, ledger: Ledger): Promise<Verification> {
  const shown = await lossesShown(gateways, ledger)
  const { losses, ...figures } = await verifyRows(records, ledger)
  return { losses: [...shown, ...losses], ...figures }
}

/** Through the API. */
export async function lossesShown(gateways: readonly Role[], ledger: Ledger): Promise<string[]> {
  const losses: string[] = []
  const waiting = [...ledger.viewers().entries()]
  await Promise.all(
    Array.from({ length: CALLS_AT_ONCE }, async () => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        const [index, viewer] = next
        losses.push(...(await lossesOfViewer(gateways[index % gateways.length] as Role, ledger, viewer)))
      }
    }),
  )
  return losses
}

/** In the record store. */
export async function verifyRows(records: RecordStore, ledger: Ledger): Promise<Verification> {
  const losses: string[] = []
  const entries = ledger.entries()
  const rows = await records.getProgressMany(entries.map(({ viewer, oid }) => ({ viewer, business: VIDEO, oid })))
  entries.forEach((entry, index) => {
    const loss = lossOf(entry, rows[index])
    if (loss !== undefined) losses.push(`record store: ${loss}`)
  })
  const deletedRows = await records.getProgressMany(ledger.deleted.map(({ viewer, oid }) => ({ viewer, business: ARTICLE, oid })))
  ledger.deleted.forEach(({ viewer, oid, acknowledged }, index) => {
    const row = deletedRows[index]
    if (acknowledged && row !== undefined && !row.deleted) losses.push(`record store: viewer ${viewer}, subject ${oid}: deleted, and there`)
  })
  return {
    losses,
    keys: entries.length,
    rows: await records.countProgress(),
    expectedRows: [...rows, ...deletedRows].filter((row) => row !== undefined && !row.deleted).length,
  }
}

async function lossesOfViewer(gateway: Role, ledger: Ledger, viewer: string): Promise<string[]> {
  const reported = await readHistory(gateway, viewer, REPORTED)
  const found = new Map(reported.map((node) => [node.oid, node]))
  const losses = ledger.entriesOf(viewer).map((entry) => lossOf(entry, found.get(entry.oid)))
  if (found.size < reported.length) losses.push(`viewer ${viewer}: the history shows a subject twice`)
  const left = new Set((await readHistory(gateway, viewer, DELETED)).map(({ oid }) => oid))
  const back = ledger.deleted.filter((each) => each.viewer === viewer && each.acknowledged && left.has(each.oid))
  return [
    ...losses.filter((loss) => loss !== undefined),
    ...back.map(({ oid }) => `viewer ${viewer}, subject ${oid}: deleted, and in the history`),
  ]
}

async function readHistory(gateway: Role, viewer: string, business: string): Promise<(Found & { oid: string })[]> {
  const nodes: (Found & { oid: string })[] = []
  for (let after: string | null = null; ;) {
    const { end }: Call<{ viewerHistory: Page }> = await call<{ viewerHistory: Page }>(gateway, 'verify', viewer, PAGE, {
      businesses: [business],
      after,
    })
    if (end.kind !== 'answered') throw new Error(`the history of viewer ${viewer} cannot be read: ${JSON.stringify(end)}`)
    if (end.degraded.size > 0) throw new Error(`after the load the answers still lack ${[...end.degraded].join(', ')}`)
    const { edges, pageInfo }: Page = end.data.viewerHistory
    nodes.push(...edges.map(({ node }) => ({ oid: node.id, ...node.viewerProgress })))
    if (!pageInfo.hasNextPage) return nodes
    after = pageInfo.endCursor
  }
}
