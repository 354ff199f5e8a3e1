/** All alerts, by the group of rules that has them. */
import type { Alert } from './alert.ts'
import { DATA_ALERTS } from './data.ts'
import { GATEWAY_ALERTS } from './gateway.ts'
import { PROCESS_ALERTS } from './processes.ts'
import { SERVICE_LEVEL_ALERTS } from './service-levels.ts'
import { STORE_ALERTS } from './stores.ts'
import { WRITE_BACK_ALERTS } from './write-back.ts'

export const ALERT_GROUPS: Readonly<Record<string, readonly Alert[]>> = {
  'service levels': SERVICE_LEVEL_ALERTS,
  processes: PROCESS_ALERTS,
  stores: STORE_ALERTS,
  'write-back': WRITE_BACK_ALERTS,
  data: DATA_ALERTS,
  gateway: GATEWAY_ALERTS,
}

export const ALERTS: readonly Alert[] = Object.values(ALERT_GROUPS).flat()
