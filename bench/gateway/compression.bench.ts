/**
 * How much does compressing answers cost, and how many bytes does it save?
 *
 *     npm run bench -- compression [--quick] [--json]
 *
 * One service runs as with `npm start`, with a history of 600 entries. Pages of it give answers of about 2, 20 and 90 KB. Each is loaded in
 * turn without compression and with each coding, in many short rounds. Ratios compare the sums of all rounds.
 *
 * The service has no free time under this load, so its compression reaches the limit of a tenth of the time, and part of the answers goes
 * uncompressed. The time per compressed answer is the service's own measurement of the round in which it was least.
 *
 * The last rows show whether Node's thread pool would relieve the event loop. They divide the busy time of the event loop per answer with
 * the pool by the time of compressing on the event loop.
 */
import { request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip, zstdCompress, brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { Registry } from '@prometheus-io/client'
import { ENCODINGS, type Encoding } from '../../gateway/doors/accept-encoding.ts'
import { makeCompression } from '../../gateway/doors/compression.ts'
import { makeTimeBudget } from '../../gateway/doors/time-budget.ts'
import { ask, makeServiceFolder, startService, type Service } from '../../harness/deployment/service.ts'
import { cpuSeconds } from '../support/cpu.ts'
import { runLoad } from '../support/load.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

/** CPU time per request with compression : without. The budget is a tenth of the time; a compressed answer also costs headers and garbage. */
const RATIO_MAX = 1.25
/** Earns the budget back after the load of the size before. */
const SETTLE_MS = 3_000
const ENTRIES = 600
const PAGE = `{ edges { cursor viewedAt node { __typename id business viewerProgress { position duration viewedAt device finished } } }
  pageInfo { hasNextPage endCursor } }`

const page = (first: number, after?: string): string =>
  `viewerHistory(first: ${first}${after === undefined ? '' : `, after: "${after}"`}) ${PAGE}`

const VIEWER = { 'x-viewer-id': '1' }
const CODINGS = ['identity', ...ENCODINGS] as const
type Coding = (typeof CODINGS)[number]
type Round = { cpuSeconds: number; compressed: number; answers: number; seconds: number }

export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  const { folder, remove } = makeServiceFolder()
  const service = await startService({ folder })
  try {
    await fill(service)
    const measures: Measure[] = []
    for (const [size, query] of Object.entries(await makeQueries(service))) {
      await sleep(SETTLE_MS)
      const plain = await fetchAnswer(service, query, 'identity')
      measures.push({ metric: `${size}: bytes uncompressed`, value: plain.length, unit: 'bytes' })
      // Before the load, which uses up the budget.
      const wire = { zstd: plain, br: plain, gzip: plain }
      for (const encoding of ENCODINGS) wire[encoding] = await fetchAnswer(service, query, encoding)
      const rounds = await loadInTurn(service, query, quick ? { rounds: 8, ms: 200 } : { rounds: 20, ms: 500 }, (round) =>
        progress(`${size}: round ${round}`),
      )
      for (const encoding of ENCODINGS) measures.push(...measuresOf(size, encoding, wire[encoding], plain, rounds))
      progress(`${size}: the thread pool`)
      for (const encoding of ENCODINGS) measures.push(await poolRatio(size, encoding, plain, quick ? 200 : 2_000))
    }
    return measures
  } finally {
    await service.stop()
    remove()
  }
}

function measuresOf(size: string, encoding: Encoding, bytes: Buffer, plain: Buffer, rounds: readonly Record<Coding, Round>[]): Measure[] {
  if (!DECOMPRESS[encoding](bytes).equals(plain)) throw new Error(`the answer in ${encoding} differs from the uncompressed one`)
  const total = (coding: Coding, figure: (round: Round) => number): number => rounds.reduce((sum, round) => sum + figure(round[coding]), 0)
  const microsPerAnswer = (coding: Coding): number =>
    (1_000_000 * total(coding, (round) => round.cpuSeconds)) / total(coding, ({ answers }) => answers)
  const least = Math.min(
    ...rounds
      .filter((round) => round[encoding].compressed > 0)
      .map((round) => (1_000_000 * round[encoding].seconds) / round[encoding].compressed),
  )
  const share = total(encoding, ({ compressed }) => compressed) / total(encoding, ({ answers }) => answers)
  const name = `${size}, ${encoding}`
  return [
    { metric: `${name}: compressed : plain`, value: bytes.length / plain.length, unit: 'bytes' },
    { metric: `${name}: time per compressed answer`, value: least, unit: 'µs' },
    { metric: `${name}: answers compressed under full load`, value: share, unit: 'share' },
    { metric: `${name}: CPU per request`, value: microsPerAnswer(encoding), unit: 'µs' },
    {
      metric: `${name}: CPU per request : uncompressed`,
      value: microsPerAnswer(encoding) / microsPerAnswer('identity'),
      unit: 'ratio',
      target: RATIO_MAX,
      atMost: true,
    },
  ]
}

async function loadInTurn(
  service: Service,
  query: string,
  { rounds, ms }: { rounds: number; ms: number },
  progress: (round: number) => void,
): Promise<Record<Coding, Round>[]> {
  for (const coding of CODINGS) await load(service, query, coding, 1_000)
  const measured: Record<Coding, Round>[] = []
  for (let round = 1; round <= rounds; round++) {
    progress(round)
    const one: Partial<Record<Coding, Round>> = {}
    // Another coding begins each round.
    for (let at = 0; at < CODINGS.length; at++) {
      const coding = CODINGS[(at + round) % CODINGS.length] as Coding
      one[coding] = await load(service, query, coding, ms)
    }
    measured.push(one as Record<Coding, Round>)
  }
  return measured
}

async function load(service: Service, query: string, coding: Coding, durationMs: number): Promise<Round> {
  const before = await readMetrics(service)
  const cpuBefore = cpuSeconds(service.pid)
  const { requests } = await runLoad({
    url: service.url,
    connections: 16,
    durationMs,
    headers: { ...VIEWER, 'accept-encoding': coding },
    body: () => JSON.stringify({ query }),
  })
  const cpuAfter = cpuSeconds(service.pid)
  const after = await readMetrics(service)
  return {
    cpuSeconds: cpuAfter - cpuBefore,
    answers: requests,
    compressed: after.compressed - before.compressed,
    seconds: after.seconds - before.seconds,
  }
}

/** Read without compression, which would count itself. */
async function readMetrics({ url }: Service): Promise<{ compressed: number; seconds: number }> {
  const text = await (await fetch(new URL('/metrics', url), { headers: { 'accept-encoding': 'identity' } })).text()
  const values = (name: string): number[] =>
    [...text.matchAll(new RegExp(`^${name}(?:{.*})? (\\S+)$`, 'gm'))].map(([, value]) => Number(value))
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)
  return {
    compressed: sum(values('tidemark_gateway_compressed_answers_total')),
    seconds: sum(values('tidemark_gateway_compression_seconds_total')),
  }
}

/** The bytes of one answer as they are on the wire. */
function fetchAnswer({ url }: Service, query: string, coding: Coding): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'accept-encoding': coding, ...VIEWER }
    const sent = request(url, { method: 'POST', headers }, (response) => {
      const given = response.headers['content-encoding'] ?? 'identity'
      if (given === coding) buffer(response).then(resolve, reject)
      else reject(new Error(`an answer in ${coding} was expected and came in ${given}`))
    })
    sent.once('error', reject)
    sent.end(JSON.stringify({ query }))
  })
}

/** Queries by the size of their answers. The largest asks for four pages, one after the other. */
async function makeQueries({ url }: Service): Promise<Readonly<Record<string, string>>> {
  const pages: string[] = []
  let after: string | undefined
  for (const name of ['a', 'b', 'c', 'd']) {
    pages.push(`${name}: ${page(100, after)}`)
    const { data } = (await ask(url, '1', `{ ${page(100, after)} }`)) as { data: { viewerHistory: { pageInfo: { endCursor: string } } } }
    after = data.viewerHistory.pageInfo.endCursor
  }
  return { '2 KB': `{ ${page(9)} }`, '20 KB': `{ ${page(90)} }`, '90 KB': `{ ${pages.join(' ')} }` }
}

async function fill({ url }: Service): Promise<void> {
  const now = Date.now()
  const reports = Array.from({ length: ENTRIES }, (_, index) => ({
    business: 'video',
    id: String(10_000_000 + ((index * 7_919_317) % 89_999_999)),
    position: 10_000 + ((index * 104_729) % 1_700_000),
    duration: 1_800_000,
    device: ['tv', 'phone', 'web'][index % 3],
    viewedAt: now - index * 4_321_987,
  }))
  const query = 'mutation ($reports: [ReportProgressInput!]!) { reportProgressBatch(input: { reports: $reports }) { results { outcome } } }'
  for (let at = 0; at < ENTRIES; at += 300) await ask(url, '1', query, { reports: reports.slice(at, at + 300) })
}

const DECOMPRESS: Readonly<Record<Encoding, (bytes: Buffer) => Buffer>> = {
  zstd: zstdDecompressSync,
  br: brotliDecompressSync,
  gzip: gunzipSync,
}

/** At the levels of gateway/doors/compression.ts. */
const IN_POOL: Readonly<Record<Encoding, (bytes: Buffer) => Promise<Buffer>>> = {
  zstd: (bytes) => promisify(zstdCompress)(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
  br: (bytes) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  gzip: (bytes) => promisify(gzip)(bytes, { level: 1 }),
}

async function poolRatio(size: string, encoding: Encoding, plain: Buffer, count: number): Promise<Measure> {
  const here = makeCompression(1, new Registry(), makeTimeBudget({ share: 1, burstMs: Infinity }))
  const answer = { status: 200, contentType: 'application/json', body: plain }
  const ratios: number[] = []
  for (let round = 0; round < 6; round++) {
    const begunAt = performance.now()
    for (let i = 0; i < count; i++) here.compress({ 'accept-encoding': encoding }, answer)
    const hereMs = performance.now() - begunAt
    const before = performance.eventLoopUtilization()
    for (let i = 0; i < count; i += 2) await Promise.all([IN_POOL[encoding](plain), IN_POOL[encoding](plain)])
    ratios.push(performance.eventLoopUtilization(before).active / hereMs)
  }
  // The first round warms up.
  return { metric: `${size}, ${encoding}: event loop with the thread pool : without`, value: median(ratios.slice(1)), unit: 'ratio' }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
