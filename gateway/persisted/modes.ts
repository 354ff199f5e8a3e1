/**
 * What a client may run. A client names itself and nobody checks the name, so its own mode can only be stricter than the
 * default: who invents a name gets the default. A looser one would open the door to whoever learns the name; the
 * configuration refuses it. The default is the wall; modes of clients are for rolling it out, one program at a time.
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

/** PERSISTED_MODES has them from loose to strict. */
function stricter(a: PersistedMode, b: PersistedMode): PersistedMode {
  return PERSISTED_MODES.indexOf(a) >= PERSISTED_MODES.indexOf(b) ? a : b
}
