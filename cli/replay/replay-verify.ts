/**
 * The independent reference of `replay`: the history of each viewer, by a plain sort and last write wins over the file, is compared with
 * the pages of the API. It shares no code with the service.
 */
import { callApi } from '../../conformance/api-client.ts'
import type { ReplayOptions, WireReport } from './options.ts'

type Line = { business: string; id: string; position: number; viewedAt: number }
type Edge = { node: { business: string; id: string; viewerProgress: { position: number; viewedAt: number } } }
type Page = { viewerHistory: { edges: Edge[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } } }

const HISTORY = `query Verify($after: String) {
  viewerHistory(first: 100, after: $after) {
    edges { node { business id viewerProgress { position viewedAt } } }
    pageInfo { hasNextPage endCursor }
  }
}`

export type TimelineVerification = { ok: boolean; sentence: string }

export async function verifyTimelines(
  reports: AsyncGenerator<WireReport>,
  options: Pick<ReplayOptions, 'url' | 'concurrency'>,
  progress: (text: string) => void,
): Promise<TimelineVerification> {
  const expected = await readExpected(reports)
  const viewers = [...expected.keys()]
  const wrong: string[] = []
  let pairs = 0
  let next = 0

  async function compareNext(): Promise<void> {
    while (next < viewers.length) {
      const viewer = viewers[next++] as string
      const lines = sortedLines(expected.get(viewer) as Map<string, Line>)
      pairs += lines.length
      const actual = await readHistory(options.url, viewer)
      if (JSON.stringify(actual) !== JSON.stringify(lines)) wrong.push(viewer)
      if (next % 100 === 0) progress(`${next} of ${viewers.length} viewers`)
    }
  }
  await Promise.all(Array.from({ length: options.concurrency }, compareNext))

  if (wrong.length === 0) return { ok: true, sentence: `verified        ${viewers.length} timelines with ${pairs} entries equal the file` }
  return {
    ok: false,
    sentence: `NOT EQUAL       ${wrong.length} of ${viewers.length} timelines differ from the file, such as viewer ${wrong.slice(0, 5).join(', ')}`,
  }
}

async function readExpected(reports: AsyncGenerator<WireReport>): Promise<Map<string, Map<string, Line>>> {
  const expected = new Map<string, Map<string, Line>>()
  for await (const { viewer, business, id, position, viewedAt } of reports) {
    let lines = expected.get(viewer)
    if (lines === undefined) expected.set(viewer, (lines = new Map()))
    const subject = `${business}/${id}`
    const before = lines.get(subject)
    if (before === undefined || viewedAt >= before.viewedAt) lines.set(subject, { business, id, position, viewedAt })
  }
  return expected
}

/** Newest first; entries of one moment by their integer ids. The API documents this order for one business. */
function sortedLines(lines: Map<string, Line>): Line[] {
  return [...lines.values()].sort((a, b) => b.viewedAt - a.viewedAt || Number(a.id) - Number(b.id))
}

async function readHistory(url: string, viewer: string): Promise<Line[]> {
  const lines: Line[] = []
  let after: string | null = null
  for (;;) {
    const { viewerHistory }: Page = await callApi<Page>(url, HISTORY, { after }, { viewer })
    for (const { node } of viewerHistory.edges) {
      const { position, viewedAt } = node.viewerProgress
      lines.push({ business: node.business, id: node.id, position, viewedAt })
    }
    after = viewerHistory.pageInfo.endCursor
    if (!viewerHistory.pageInfo.hasNextPage) return lines
  }
}
