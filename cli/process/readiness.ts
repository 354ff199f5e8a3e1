/**
 * Asks the stores, for `/health/ready`. A process with one store down is ready: it answers everything, and a load balancer
 * that took all processes away would make an outage of a nuisance. The words say which store it is. Without hot store and
 * record store nothing can be read, and it is not ready. A business with stores of its own has a word for each of them, and
 * makes nobody unready: all others are served as ever, and it is as far as its stores allow.
 *
 * Anybody may ask, as often as he likes: so it is one look a second for all. And a store's word is "ok" or a code and a few
 * words of ours, never an address or what a driver said. Why it fails the log says, once by the breaker and by `tidemark doctor`
 * on demand.
 */
import { sleep, type Clock } from '../../core/clock.ts'
import type { StoreName } from '../../core/outage/degraded.ts'
import type { BusinessNumber } from '../../core/domain.ts'
import { isTidemarkError, publicMessage } from '../../core/errors.ts'
import type { Readiness } from '../../gateway/doors/health.ts'

/** Those who ask wait a second or two. A store that takes longer is down for them. */
const PATIENCE_MS = 2_000
/** What was found is told for this long. */
const GOOD_FOR_MS = 1_000

/** The stores that are asked. */
export type AskedStores = Asked & {
  /** Of businesses that have their own. */
  tenants?: ReadonlyMap<BusinessNumber, Asked & Pick<AskedStores, 'takesWrites'>>
  /** What viewers are moved from, while they are. */
  seen?: { legacy?: { check(): Promise<void> } | undefined }
  /** False while a store has no room for writes. Reads work, so the process stays ready. */
  takesWrites?(): boolean
  /** Names of findings about the servers. They do not affect readiness: all processes share the servers. */
  warnings?(): readonly string[]
}
type Asked = Record<'hot' | 'log' | 'records', { check(): Promise<void> }>
type Words = Record<StoreName, string>

type Named = readonly { number: BusinessNumber; name: string }[]

/**
 * Whoever asks while a look is under way, or within a second of its beginning, gets what it found: so that however many ask,
 * the stores are asked once a second. `businesses`: their names.
 */
export function makeReadiness(stores: AskedStores, clock: Clock, businesses: Named = []): () => Promise<Readiness> {
  let last: { began: number; found: Promise<Readiness>; isUnderWay: boolean } | undefined
  return () => {
    const now = clock.now()
    // A clock that was set back must not keep an old answer.
    if (last !== undefined && (last.isUnderWay || Math.abs(now - last.began) < GOOD_FOR_MS)) return last.found
    const look = { began: now, found: readiness(stores, clock, businesses), isUnderWay: true }
    const ended = (): void => void (look.isUnderWay = false)
    look.found.then(ended, ended)
    last = look
    return look.found
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
