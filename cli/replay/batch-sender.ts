/**
 * Sends many inputs through the API in batches, with several concurrent calls, and reports the result. One reader feeds all senders, so
 * only the current batches are in memory.
 */
import { TidemarkError, type ErrorCode } from '../../core/errors.ts'
import type { ApiCredentials } from '../../conformance/api-client.ts'
import type { UserError } from '../../conformance/answer.ts'

export type SendOptions = {
  /** Inputs per call, at most 500. */
  batch: number
  /** Concurrent calls. */
  concurrency: number
}

/** The result of an input, as the API answers it. */
export type Outcome = { outcome: string; userErrors: UserError[] }

export type SendReport = {
  sent: number
  seconds: number
  outcomes: Record<string, number>
  /** The reason of the first rejection. */
  firstRejected: string | undefined
  /** Duration of each call in milliseconds. */
  latency: { p50: number; p95: number; p99: number; max: number }
}

/** The viewer of the token that may write for all viewers. */
const REPLAYER = 'replay'

/** Headers of a service that may write for any viewer: its token, or in development the header of the scope. */
export function credentialsOf({ token }: { token: string | undefined }, ...scopes: string[]): ApiCredentials {
  return token === undefined ? { viewer: REPLAYER, scopes } : { token }
}

/** Rejections that hold for every input of the business. */
const HOPELESS: readonly ErrorCode[] = ['BUSINESS_UNKNOWN', 'BUSINESS_DELETED']

/** Throws the rejection of an answer that makes further calls useless. */
export function stopIfHopeless(answers: readonly Pick<Outcome, 'userErrors'>[]): void {
  for (const { code, message } of answers.flatMap(({ userErrors }) => userErrors)) {
    const hopeless = HOPELESS.find((each) => each === code)
    if (hopeless !== undefined) throw new TidemarkError(hopeless, message)
  }
}

/** Throws the errors of `send`, and BUSINESS_UNKNOWN or BUSINESS_DELETED at the first input with such a rejection. */
export async function sendInBatches<T>(
  inputs: AsyncGenerator<T>,
  options: SendOptions,
  progress: (text: string) => void,
  send: (inputs: T[]) => Promise<Outcome[]>,
): Promise<SendReport> {
  const latencies: number[] = []
  const outcomes: Record<string, number> = {}
  const started = performance.now()
  let firstRejected: string | undefined
  let sent = 0
  let hasFailed = false

  async function sendBatch(batch: T[]): Promise<void> {
    const begun = performance.now()
    const answers = await send(batch)
    stopIfHopeless(answers)
    latencies.push(performance.now() - begun)
    for (const { outcome, userErrors } of answers) {
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
      const [mistake] = userErrors
      if (mistake !== undefined) firstRejected ??= `${mistake.code}: ${mistake.message}`
    }
    sent += batch.length
    progress(`${sent} sent, ${Math.round((sent / (performance.now() - started)) * 1_000)}/s`)
  }

  async function sender(): Promise<void> {
    while (!hasFailed) {
      const batch = await nextBatch(inputs, options.batch)
      if (batch.length === 0) return
      try {
        await sendBatch(batch)
      } catch (error) {
        hasFailed = true
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: options.concurrency }, sender))
  return { sent, seconds: (performance.now() - started) / 1_000, outcomes, firstRejected, latency: quantilesOf(latencies) }
}

/** `what`: the plural of an input, at most 15 letters. */
export function describeSending(what: string, report: SendReport): string[] {
  const outcomes = Object.entries(report.outcomes).map(([outcome, count]) => `${count} ${outcome}`)
  const acknowledged = report.sent - (report.outcomes['REJECTED'] ?? 0)
  const { p50, p95, p99, max } = report.latency
  return [
    `${what.padEnd(16)}${report.sent} (${outcomes.join(', ')}) in ${report.seconds.toFixed(1)} s`,
    ...(report.firstRejected === undefined ? [] : [`first rejected  ${report.firstRejected}`]),
    `throughput      ${Math.round(acknowledged / report.seconds)} ${what}/s acknowledged and durable`,
    `call latency    p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, max ${max.toFixed(1)} ms`,
  ]
}

/** Calls of `next` on an async generator queue up, so concurrent callers each get items of their own. */
async function nextBatch<T>(inputs: AsyncGenerator<T>, size: number): Promise<T[]> {
  const results = await Promise.all(Array.from({ length: size }, () => inputs.next()))
  return results.flatMap((result) => (result.done === true ? [] : [result.value]))
}

function quantilesOf(latencies: number[]): SendReport['latency'] {
  latencies.sort((a, b) => a - b)
  const at = (quantile: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * quantile))] ?? 0
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) }
}
