/** What a process says of itself while it runs: stores that go and come back, journals that are applied, messages set aside. */
import type { Logger } from 'pino'
import { systemClock, type Clock, type Timer } from '../../core/clock.ts'
import type { AnyStoreName } from '../../core/outage/degraded.ts'
import type { Notices } from '../../writeback/notices.ts'

/** Whoever reads only the last lines should find what has been wrong for hours. */
const REMIND_EVERY_MS = 600_000

/** `business`: whose own stores it is told of; each line then names it. */
export function reporter(log: Pick<Logger, 'error' | 'warn' | 'info'>, business?: string, clock: Clock = systemClock): Notices {
  const of = business === undefined ? {} : { business }
  const whose = business === undefined ? 'a store' : `a store of business "${business}"`
  const reminders = new Map<AnyStoreName, Timer>()

  function remindOf(store: AnyStoreName, err: unknown, downMs: number): void {
    reminders.get(store)?.cancel()
    const remind = () => {
      const soFarMs = downMs + REMIND_EVERY_MS
      log.warn({ ...of, store, downMs: soFarMs, err }, `${whose} is still down; going on without it`)
      remindOf(store, err, soFarMs)
    }
    reminders.set(store, clock.after(REMIND_EVERY_MS, remind))
  }

  return {
    failed: (err) => log.error({ ...of, err }, 'a background step failed and will be repeated'),
    storeDown(store, err) {
      log.error({ ...of, store, err }, `${whose} is down; going on without it`)
      remindOf(store, err, 0)
    },
    storeBack(store, downMs) {
      reminders.get(store)?.cancel()
      reminders.delete(store)
      log.info({ ...of, store, downMs }, `${whose} is back`)
    },
    replayed: (entries, tookMs) => log.info({ ...of, entries, tookMs }, 'the journal was applied to the hot store'),
    parked: (reason, where) => log.error({ ...of, reason, ...where }, 'a message of the log cannot be read and was set aside'),
    damaged: (what, where) =>
      log.warn({ ...of, what, ...where }, 'something stored was damaged: it was made anew as far as it is known elsewhere'),
    ofBusiness: (name) => reporter(log, name, clock),
  }
}
