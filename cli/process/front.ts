/** The parts before an engine that a gateway and a subgraph alone share: memory, limits, credentials, health, and shutdown times. */
import type { Registry } from '@prometheus-io/client'
import type { Logger } from 'pino'
import { systemClock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import { makeAddressOf } from '../../gateway/request/addresses.ts'
import { makeClientMemory } from '../../gateway/memory/client-memory.ts'
import { addMemoryMetrics } from '../../gateway/memory/metrics.ts'
import { makeIdentify } from '../../gateway/identity/identify.ts'
import type { LiveConfig } from './live-config.ts'
import { openLiveLimits } from './live-limits.ts'
import { makeReadiness, type AskedStores } from './readiness.ts'

/** The opened parts of a role that a front needs; see open-role.ts. */
export type FrontParts = { stores: AskedStores; registry: Registry; log: Logger; live: LiveConfig }

/** `subgraph`: the name of a subgraph alone, to which gateways sign their viewers. */
export async function openFront({ stores, registry, log, live }: FrontParts, subgraph?: string) {
  const { config } = live
  const { server } = config
  const memory = makeClientMemory(server.clientMemoryBytesMax)
  addMemoryMetrics(registry, memory)
  const { limits, preparing, close } = await openLiveLimits(live, log)
  return {
    memory,
    settings: {
      ...server,
      schemaHiddenBy: schemaHiddenBy(config, subgraph !== undefined),
      // Half of the shutdown time, so that a client with an open request does not delay the flush.
      drainMaxMs: server.drainMaxMs / 2,
      drainDelayMs: server.drainDelayMs ?? (server.mode === 'production' ? 2_000 : 0),
    },
    collaborators: {
      identify: makeIdentify(config.auth, server.mode, systemClock, { log, ...(subgraph !== undefined && { subgraph }) }),
      limits,
      preparing,
      addressOf: makeAddressOf(server.trustProxy),
      operationCostMax: server.operationCostMax,
      ready: makeReadiness(stores, systemClock, config.businesses),
      log,
      registry,
    },
    close,
  }
}

/** A subgraph alone knows no manifests. */
function schemaHiddenBy({ server, persisted }: Config, isAlone: boolean): string | undefined {
  if (!server.introspection) return 'server.introspection: false'
  return persisted.mode === 'enforce' && !isAlone ? 'persisted.mode: enforce' : undefined
}
