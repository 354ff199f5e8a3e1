/** What a process says of itself while it runs: stores that go and come back, journals that are applied, messages set aside. */
import type { Logger } from 'pino'
import type { Notices } from '../core/notices.ts'

export function reporter(log: Logger): Notices {
  return {
    failed: (err) => log.error({ err }, 'a background step failed and will be repeated'),
    storeDown: (store, err) => log.error({ store, err }, 'a store is down; going on without it'),
    storeBack: (store, downMs) => log.info({ store, downMs }, 'a store is back'),
    replayed: (entries, tookMs) => log.info({ entries, tookMs }, 'the journal was applied to the hot store'),
    parked: (reason, where) => log.error({ reason, ...where }, 'a message of the log cannot be read and was set aside'),
  }
}
