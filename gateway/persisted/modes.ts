/**
 * The mode of each client. A client names itself, and the gateway does not verify the name. A client's own mode can therefore only be
 * stricter than the default: an invented name gets the default. A looser mode would open the API to every caller that knows the name,
 * and the configuration refuses it. The default protects the API. Modes of clients allow a rollout client by client.
 */
import type { Config } from '../../config/config.ts'
import { PERSISTED_MODES } from '../../config/gateway.ts'

export type PersistedMode = Config['persisted']['mode']

export function makeModeOf({
  mode,
  clients,
}: Pick<Config['persisted'], 'mode' | 'clients'>): (client: string | undefined) => PersistedMode {
  const own = new Map(Object.entries(clients))
  if (own.size === 0) return () => mode
  return (client) => stricter(mode, (client === undefined ? undefined : own.get(client)) ?? mode)
}

/** PERSISTED_MODES is sorted from loose to strict. */
function stricter(a: PersistedMode, b: PersistedMode): PersistedMode {
  return PERSISTED_MODES.indexOf(a) >= PERSISTED_MODES.indexOf(b) ? a : b
}
