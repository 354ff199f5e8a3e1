/**
 * Replaces the engine of a running process when its supergraph changes:
 *
 *   a file changed, a poll is due, or the operator asks (SIGHUP)
 *   → gather; if nothing changed: done
 *   → compose, make an engine beside the one that serves, ask the checks
 *   → swap (live-engine.ts), or keep the old one, log the reason in one sentence, and count it
 *
 * One reload runs at a time. Requests for a reload meanwhile share one more reload after it, because the running one may have read the
 * old files.
 */
import type { Clock, Timer } from '../../core/clock.ts'
import type { Engine } from '../operation/engine.ts'
import type { Log } from '../request/error-format.ts'
import type { Candidate, LiveEngine } from './live-engine.ts'
import type { GatheredSchemas } from './gather.ts'
import type { LoadedSupergraph } from './load.ts'
import type { SupergraphMetrics } from './metrics.ts'
import { watchFiles } from './file-watch.ts'

export type ReloadResult = 'swapped' | 'unchanged' | 'failed'

/** The result of a check. A graph with refusals is not served. `commit` is called at once after the graph serves. */
export type Verdict = { readonly refusals: readonly string[]; readonly commit?: () => void }

/** Operations that the check prepares on the candidate may be used from `commit` on. */
export type GraphCheck = (candidate: Engine) => Verdict | Promise<Verdict>

export type ReloadParts = {
  gather(): Promise<GatheredSchemas>
  /** Throws if the graph does not compose. */
  build(gathered: GatheredSchemas): { readonly loaded: LoadedSupergraph; readonly candidate: Candidate }
  readonly live: LiveEngine
  readonly checks: ReadonlySet<GraphCheck>
  readonly metrics: SupergraphMetrics
  readonly log: Log
  /** Called when the new graph serves. */
  swapped(loaded: LoadedSupergraph): void
}

export type ReloadOptions = {
  /** Milliseconds between two polls. 0: never. */
  readonly pollMs: number
}

export type Reloader = {
  reload(reason: string): Promise<ReloadResult>
  /** Stops watching and waits for a running reload. */
  close(): Promise<void>
}

export function startReloading(parts: ReloadParts, first: GatheredSchemas, clock: Clock, { pollMs }: ReloadOptions): Reloader {
  const { live, metrics, log } = parts
  let fingerprint = first.fingerprint
  let lastFailure = ''
  let underWay: Promise<ReloadResult> | undefined
  let following: Promise<ReloadResult> | undefined
  let closed = false
  const watch = watchFiles(() => void reload('a file changed'), clock)
  watch.update(first.files)
  let poll: Timer | undefined
  pollLater()

  function pollLater(): void {
    if (pollMs === 0 || closed) return
    poll = clock.after(pollMs, () => void reload('poll').then(pollLater))
  }

  function reload(reason: string): Promise<ReloadResult> {
    if (closed) return Promise.resolve('unchanged')
    if (underWay === undefined) {
      const begun = run(reason).finally(() => {
        underWay = undefined
      })
      underWay = begun
      return begun
    }
    following ??= underWay.then(() => {
      following = undefined
      return reload(reason)
    })
    return following
  }

  /** Never rejects. */
  async function run(reason: string): Promise<ReloadResult> {
    const startedAt = performance.now()
    try {
      const gathered = await parts.gather()
      watch.update(gathered.files)
      if (gathered.fingerprint === fingerprint) return unchanged()
      const { ended, kept, hash } = await replaceBy(gathered)
      fingerprint = gathered.fingerprint
      lastFailure = ''
      metrics.countReload('swapped')
      log.info(
        { reason, hash, ms: Math.round(performance.now() - startedAt), subscriptionsEnded: ended, subscriptionsKept: kept },
        'the supergraph was reloaded',
      )
      return 'swapped'
    } catch (error) {
      return failed(reason, error)
    }
  }

  function unchanged(): ReloadResult {
    lastFailure = ''
    metrics.countReload('unchanged')
    return 'unchanged'
  }

  async function replaceBy(gathered: GatheredSchemas): Promise<{ ended: number; kept: number; hash: string }> {
    const { loaded, candidate } = parts.build(gathered)
    let verdicts: readonly Verdict[]
    try {
      verdicts = await Promise.all([...parts.checks].map(async (check) => check(candidate.engine)))
      const refusals = verdicts.flatMap((verdict) => verdict.refusals)
      if (refusals.length > 0) throw new Error(refusals.join('\n'))
      if (closed) throw new Error('the process is ending')
    } catch (error) {
      candidate.release()
      throw error
    }
    const counts = live.swap(candidate)
    for (const { commit } of verdicts) commit?.()
    parts.swapped(loaded)
    return { ...counts, hash: loaded.hash }
  }

  function failed(reason: string, error: unknown): ReloadResult {
    metrics.countReload('failed')
    const sentence = error instanceof Error ? error.message : String(error)
    // A poll would log the same error every few seconds until it is corrected.
    if (sentence !== lastFailure) log.error({ reason }, `the supergraph was not reloaded, and the old one still serves: ${sentence}`)
    lastFailure = sentence
    return 'failed'
  }

  return {
    reload,
    async close() {
      closed = true
      poll?.cancel()
      watch.close()
      await underWay
    },
  }
}
