/**
 * A client of a site: lookups of a page, a report and a like in turn, each as one of many viewers with a token. Its rate is steady, however
 * long the answers take. A standalone subgraph gets reads of counts.
 */
import { SignJWT } from 'jose'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'

export type Latencies = { sent: number; failed: number; p50Ms: number; p99Ms: number; worstMs: number; firstFailure: string | undefined }

export type HealthyClient = {
  /** `perSecond`: default 50. */
  run(durationMs: number, perSecond?: number): Promise<Latencies>
  close(): Promise<void>
}

const PER_SECOND = 50
const VIEWERS = 40
const SUBJECTS = 2_000
const IDS = 20
const CONNECTIONS = 16
const PATIENCE_MS = 30_000

const LOOK_UP = 'query Page($ids: [ID!]!) { subjects(business: "video", ids: $ids) { viewerProgress { position } likeCount viewerMark } }'
const REPORT = 'mutation Report($id: ID!, $at: Float!) { reportProgress(input: {business: "video", id: $id, position: $at}) { outcome } }'
const LIKE = 'mutation Like($id: ID!) { setMark(input: { business: "video", id: $id, mark: LIKE }) { outcome } }'
const COUNTS = 'query Counts($ids: [ID!]!) { subjects(business: "video", ids: $ids) { likeCount } }'

export async function tokenOf(secret: string, viewer: string): Promise<string> {
  return new SignJWT({ sub: viewer }).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('6h').sign(new TextEncoder().encode(secret))
}

export async function makeHealthyClient(url: string, role: 'start' | 'subgraph', secret: string): Promise<HealthyClient> {
  const { origin, pathname } = new URL(url)
  const pool = new Pool(origin, { connections: CONNECTIONS, headersTimeout: PATIENCE_MS, bodyTimeout: PATIENCE_MS })
  const tokens = await Promise.all(Array.from({ length: VIEWERS }, (_, viewer) => tokenOf(secret, `healthy-${viewer}`)))
  let next = 0

  function bodyOf(index: number): string {
    const id = String(index % SUBJECTS)
    const ids = Array.from({ length: IDS }, (_, place) => String((index * 7 + place * 13) % SUBJECTS))
    if (role === 'subgraph') return JSON.stringify({ query: COUNTS, variables: { ids } })
    if (index % 5 === 3) return JSON.stringify({ query: REPORT, variables: { id, at: 1_000 + (index % 100_000) } })
    if (index % 5 === 4) return JSON.stringify({ query: LIKE, variables: { id } })
    return JSON.stringify({ query: LOOK_UP, variables: { ids } })
  }

  async function send(index: number): Promise<string | undefined> {
    const authorization = role === 'start' ? { authorization: `Bearer ${tokens[index % VIEWERS]}` } : {}
    const headers = { 'content-type': 'application/json', ...authorization }
    const { statusCode, body } = await pool.request({ path: pathname, method: 'POST', headers, body: bodyOf(index) })
    const text = await body.text()
    const isRight = statusCode === 200 && !text.includes('"errors"') && !text.includes('"degraded"')
    return isRight ? undefined : `${statusCode} ${text.slice(0, 300)}`
  }

  return {
    async run(durationMs, perSecond = PER_SECOND) {
      const latencies: number[] = []
      let failed = 0
      let firstFailure: string | undefined
      const underWay = new Set<Promise<void>>()
      const begun = performance.now()
      for (let count = 0; count < (durationMs / 1_000) * perSecond; count += 1) {
        // Latency counts from the schedule, not from the sending: a stall of the product delays all later calls.
        const due = begun + (count * 1_000) / perSecond
        const early = due - performance.now()
        if (early > 0) await sleep(early)
        const call = send(next++)
          .catch((error: unknown) => String(error))
          .then((failure) => {
            underWay.delete(call)
            latencies.push(performance.now() - due)
            if (failure === undefined) return
            failed += 1
            firstFailure ??= failure
          })
        underWay.add(call)
      }
      await Promise.all(underWay)
      latencies.sort((a, b) => a - b)
      const at = (quantile: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * quantile))] ?? 0
      return { sent: latencies.length, failed, p50Ms: at(0.5), p99Ms: at(0.99), worstMs: at(1), firstFailure }
    },
    close: () => pool.destroy(),
  }
}
