/** Keeps prepared operations by key. The memory of clients decides on eviction. */
import type { ClientMemory, Holding } from '../memory/client-memory.ts'
import { compileCostMs } from '../memory/estimates.ts'
import { NOTHING_HELD, type Family } from '../memory/family.ts'
import type { PreparedOperation } from './prepared-operation.ts'

export type OperationCache = {
  find(key: string): PreparedOperation | undefined
  /** `bytes` is the estimated size of the operation. `family` holds its variants and is released with it. */
  keep(key: string, operation: PreparedOperation, bytes: number, family: Family): void
  clear(): void
}

export function makeOperationCache(memory: Pick<ClientMemory, 'hold'>): OperationCache {
  const operations = new Map<string, { operation: PreparedOperation; holding: Holding; family: Family }>()
  return {
    find(key) {
      const known = operations.get(key)
      known?.holding.touch()
      return known?.operation
    },
    keep(key, operation, bytes, family) {
      const kept = { operation, family, holding: NOTHING_HELD }
      operations.set(key, kept)
      kept.holding = memory.hold('operation', bytes, compileCostMs(bytes), () => {
        if (operations.get(key) === kept) operations.delete(key)
        family.release()
      })
    },
    clear() {
      for (const { holding, family } of operations.values()) {
        holding.release()
        family.release()
      }
      operations.clear()
    },
  }
}

export function operationKey(query: string, operationName: string | undefined): string {
  return operationName === undefined ? query : `${operationName.length}:${operationName}${query}`
}
