/**
 * An open-loop load: each request leaves at its time, however many are under way, as the requests of many viewers do. The latency counts
 * from that time. A late answer therefore cannot hide the requests behind it.
 */
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

export type Timed = { atMs: number; viewer: string; body: Buffer }
/** `atMs`: of the request. `failure`: undefined if the answer was whole. */
export type Answered = { atMs: number; ms: number; failure: string | undefined }

/** Requests of more than this age are given up. */
const PATIENCE_MS = 10_000

/** `check` throws if an answer is not whole. Resolves when all requests are answered. */
export async function runOpenLoop(url: string, requests: Iterable<Timed>, check: (answer: string) => void): Promise<Answered[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 })
  const begun = performance.now()
  const pending = new Set<Promise<void>>()
  const answered: Answered[] = []
  for (const { atMs, viewer, body } of requests) {
    const early = atMs - (performance.now() - begun)
    if (early > 1) await sleep(early)
    const end = (failure: string | undefined): void => void answered.push({ atMs, ms: performance.now() - begun - atMs, failure })
    const call = send(agent, url, viewer, body)
      .then((answer) => check(answer))
      .then(
        () => end(undefined),
        (error: unknown) => end(String(error)),
      )
    pending.add(call)
    void call.then(() => pending.delete(call))
  }
  await Promise.all(pending)
  agent.destroy()
  return answered
}

function send(agent: Agent, url: string, viewer: string, body: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': body.length, 'x-viewer-id': viewer }
    const sent = request(url, { method: 'POST', agent, headers, timeout: PATIENCE_MS }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.once('error', reject)
      response.once('end', () => {
        const answer = Buffer.concat(chunks).toString()
        if (response.statusCode === 200) resolve(answer)
        else reject(new Error(`the answer has status ${response.statusCode}: ${answer.slice(0, 200)}`))
      })
    })
    sent.once('timeout', () => sent.destroy(new Error(`no answer after ${PATIENCE_MS} ms`)))
    sent.once('error', reject)
    sent.end(body)
  })
}
