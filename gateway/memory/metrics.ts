/** Metrics of the memory of clients, by kind. */
import { Counter, Gauge, type Registry } from '@prometheus-io/client'
import { KINDS, type ClientMemory } from './client-memory.ts'

export function addMemoryMetrics(registry: Registry, memory: ClientMemory): void {
  const registers = [registry]
  const max = new Gauge({
    name: 'tidemark_gateway_client_memory_max_bytes',
    help: 'The budget in bytes: server.clientMemoryBytesMax.',
    registers,
  })
  max.set(memory.figures().bytesMax)
  const bytes = new Gauge({
    name: 'tidemark_gateway_client_memory_bytes',
    help: 'Estimated bytes of the values that clients made the process keep, by kind. pinned: operations of manifests, outside the budget.',
    labelNames: ['kind'],
    registers,
    collect() {
      const { kinds, pinned } = memory.figures()
      for (const kind of KINDS) bytes.set({ kind }, kinds[kind].bytes)
      bytes.set({ kind: 'pinned' }, pinned)
    },
  })
  const counted: Record<string, number> = {}
  const evictions = new Counter({
    name: 'tidemark_gateway_client_memory_evictions_total',
    help: 'Values evicted to stay within the budget, by kind.',
    labelNames: ['kind'],
    registers,
    collect() {
      const { kinds } = memory.figures()
      for (const kind of KINDS) {
        evictions.inc({ kind }, kinds[kind].evictions - (counted[kind] ?? 0))
        counted[kind] = kinds[kind].evictions
      }
    },
  })
}
