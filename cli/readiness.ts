/**
 * Asks the stores, for `/health/ready`. A process with one store down is ready: it answers everything, and a load balancer
 * that took all processes away would make an outage of a nuisance. The words say which store it is. Without hot store and
 * record store nothing can be read, and it is not ready.
 *
 * Anybody may ask, so a store's word is "ok" or a code and a few words of ours, never an address or what a driver said. Why
 * it fails the log says, once by the breaker and by `tidemark doctor` on demand.
 */
import { sleep, type Clock } from '../core/clock.ts'
import type { StoreName } from '../core/degraded.ts'
import { isTidemarkError, publicMessage } from '../core/errors.ts'
import type { OpenStores } from '../stores/open.ts'

/** Those who ask wait a second or two. A store that takes longer is down for them. */
const PATIENCE_MS = 2_000

/** The stores that are asked. */
export type AskedStores = Pick<OpenStores, 'hot' | 'log' | 'records'>

export async function readiness(stores: AskedStores, clock: Clock): Promise<{ ok: boolean; stores: Record<StoreName, string> }> {
  const [hotStore, log, recordStore] = await Promise.all([stores.hot, stores.log, stores.records].map((store) => wordOf(store, clock)))
  const words = { hotStore, log, recordStore } as Record<StoreName, string>
  return { ok: hotStore === 'ok' || recordStore === 'ok', stores: words }
}

async function wordOf(store: { check(): Promise<void> }, clock: Clock): Promise<string> {
  const late = sleep(clock, PATIENCE_MS).then(() => `no answer in ${PATIENCE_MS} ms`)
  const answer = store.check().then(
    () => 'ok',
    (error: unknown) => (isTidemarkError(error) ? `${error.code}: ${publicMessage(error)}` : 'INTERNAL'),
  )
  return Promise.race([answer, late])
}
