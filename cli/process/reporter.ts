/** The events that a running process logs: stores that fail and recover, applied journals, parked messages. */
import type { Logger } from 'pino'
import { systemClock, type Clock, type Timer } from '../../core/clock.ts'
import type { AnyStoreName } from '../../core/outage/degraded.ts'
import type { Notices } from '../../writeback/notices.ts'

/** An outage is repeated in the log, so that its last lines show a problem that has lasted for hours. */
const REMIND_EVERY_MS = 600_000

/** `business`: the owner of the stores. Each line then names the business. */
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
    parked: (reason, where) => log.error({ ...of, reason, ...where }, 'a message of the log cannot be read and was parked'),
    damaged: (what, where) =>
      log.warn({ ...of, what, ...where }, 'stored data was damaged and was rebuilt from other data as far as possible'),
    ofBusiness: (name) => reporter(log, name, clock),
  }
}
