/** The parts before an engine that a gateway and a subgraph alone share: memory, limits, credentials, health, and shutdown times. */
import type { Registry } from '@prometheus-io/client'
import type { Logger } from 'pino'
import { systemClock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import { makeAddressOf } from '../../gateway/request/addresses.ts'
import { limitsInForce } from '../../gateway/limits/limits-in-force.ts'
import { openPreparingLimit } from '../../gateway/limits/preparing-limit.ts'
import { makeClientMemory } from '../../gateway/memory/client-memory.ts'
import { addMemoryMetrics } from '../../gateway/memory/metrics.ts'
import { makeRateLimits } from '../../gateway/limits/rate-limits.ts'
import { makeIdentify } from '../../gateway/identity/identify.ts'
import { openCountingStore } from '../stores/history.ts'
import { makeReadiness, type AskedStores } from './readiness.ts'

/** The opened parts of a role that a front needs; see open-role.ts. */
export type FrontParts = { stores: AskedStores; registry: Registry; log: Logger }

/** `subgraph`: the name of a subgraph alone, to which gateways sign their viewers. */
export function openFront(config: Config, { stores, registry, log }: FrontParts, subgraph?: string) {
  const { server } = config
  const memory = makeClientMemory(server.clientMemoryBytesMax)
  addMemoryMetrics(registry, memory)
  const counting = openCountingStore(config)
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
      limits: makeRateLimits(limitsInForce(config), counting, log),
      preparing: openPreparingLimit(config, systemClock),
      addressOf: makeAddressOf(server.trustProxy),
      operationCostMax: server.operationCostMax,
      ready: makeReadiness(stores, systemClock, config.businesses),
      log,
      registry,
    },
    /** Closes the counters of rate limits. */
    close: () => counting?.close(),
  }
}

/** A subgraph alone knows no manifests. */
function schemaHiddenBy({ server, persisted }: Config, isAlone: boolean): string | undefined {
  if (!server.introspection) return 'server.introspection: false'
  return persisted.mode === 'enforce' && !isAlone ? 'persisted.mode: enforce' : undefined
}
