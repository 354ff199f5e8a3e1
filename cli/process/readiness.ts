/**
 * Checks the stores for `/health/ready`.
 *
 * - A process with one store down is ready, because it answers every request. A load balancer that removed all processes would turn a
 *   degraded service into an outage.
 * - Without both hot store and record store nothing can be read, and the process is not ready.
 * - Stores of a business are listed, but never make a process unready: all other businesses are served.
 * - Any client may ask at any rate, so all requests of a second share one check of the stores. The live version is that of the moment.
 * - A store is reported as "ok", or with a code and a public message, never with an address or the words of a driver. The breaker logs the
 *   reason once, and `tidemark doctor` prints it on demand.
 */
import { sleep, type Clock } from '../../core/clock.ts'
import type { StoreName } from '../../core/outage/degraded.ts'
import type { BusinessNumber } from '../../core/domain.ts'
import { isTidemarkError, publicMessage } from '../../core/errors.ts'
import type { Readiness } from '../../gateway/doors/health.ts'
import type { LiveStatus } from './live-config.ts'

/** A store that takes longer than this counts as down. */
const PATIENCE_MS = 2_000
/** The result is cached for this long. */
const GOOD_FOR_MS = 1_000

/** The checked stores. */
export type AskedStores = Asked & {
  /** The stores of businesses with stores of their own. */
  tenants?: ReadonlyMap<BusinessNumber, Asked & Pick<AskedStores, 'takesWrites'>>
  /** The legacy store, during a migration. */
  seen?: { legacy?: { check(): Promise<void> } | undefined }
  /** False while a store has no room for writes. Reads work, so the process stays ready. */
  takesWrites?(): boolean
  /** Names of findings about the servers. They do not affect readiness: all processes share the servers. */
  warnings?(): readonly string[]
  /** The live version that the process runs. */
  liveStatus?(): LiveStatus
}
type Asked = Record<'hot' | 'log' | 'records', { check(): Promise<void> }>
type Words = Record<StoreName, string>

type Named = readonly { number: BusinessNumber; name: string }[]

/**
 * A request during a check, or within a second of its start, gets the result of that check. The stores are therefore checked at most once
 * per second. `businesses`: for their names.
 */
export function makeReadiness(stores: AskedStores, clock: Clock, businesses: Named = []): () => Promise<Readiness> {
  let last: { began: number; found: Promise<Readiness>; isUnderWay: boolean } | undefined
  return () => {
    const now = clock.now()
    // A clock that was set back must not keep an old answer.
    if (last === undefined || (!last.isUnderWay && Math.abs(now - last.began) >= GOOD_FOR_MS)) {
      const look = { began: now, found: readiness(stores, clock, businesses), isUnderWay: true }
      const ended = (): void => void (look.isUnderWay = false)
      look.found.then(ended, ended)
      last = look
    }
    return last.found.then((found) => ({ ...found, ...configOf(stores) }))
  }
}

async function readiness(stores: AskedStores, clock: Clock, businesses: Named): Promise<Readiness> {
  const legacy = stores.seen?.legacy
  const [words, legacyStore, tenants] = await Promise.all([
    wordsOf(stores, clock),
    legacy && wordOf(legacy, clock),
    Promise.all(
      businesses.flatMap(({ number, name }) => {
        const own = stores.tenants?.get(number)
        return own === undefined ? [] : [wordsOf(own, clock).then((words) => [name, { ...words, ...writesOf(own) }] as const)]
      }),
    ),
  ])
  const warnings = stores.warnings?.() ?? []
  return {
    ok: words.hotStore === 'ok' || words.recordStore === 'ok',
    stores: { ...words, ...(legacyStore !== undefined && { legacyStore }) },
    ...(tenants.length > 0 && { tenants: Object.fromEntries(tenants) }),
    ...writesOf(stores),
    ...(warnings.length > 0 && { warnings }),
  }
}

/** The log has the reason of a refusal. It may name settings, and anybody may read this answer. */
function configOf({ liveStatus }: AskedStores): Pick<Readiness, 'config'> {
  if (liveStatus === undefined) return {}
  const { version, hash, problem } = liveStatus()
  return { config: { version, hash, ...(problem !== undefined && { refused: true }) } }
}

function writesOf({ takesWrites }: Pick<AskedStores, 'takesWrites'>): { writes?: false } {
  return takesWrites?.() === false ? { writes: false } : {}
}

async function wordsOf({ hot, log, records }: Asked, clock: Clock): Promise<Words> {
  const [hotStore, logWord, recordStore] = await Promise.all([wordOf(hot, clock), wordOf(log, clock), wordOf(records, clock)])
  return { hotStore, log: logWord, recordStore }
}

async function wordOf(store: { check(): Promise<void> }, clock: Clock): Promise<string> {
  const late = sleep(clock, PATIENCE_MS).then(() => `no answer in ${PATIENCE_MS} ms`)
  const answer = store.check().then(
    () => 'ok',
    (error: unknown) => (isTidemarkError(error) ? `${error.code}: ${publicMessage(error)}` : 'INTERNAL'),
  )
  return Promise.race([answer, late])
}
