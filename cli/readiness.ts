/** Asks the stores, for `/health/ready`. */
import type { OpenStores } from '../stores/open.ts'

export async function readiness(stores: OpenStores): Promise<{ ok: boolean; stores: Record<string, string> }> {
  const asked = { hotStore: stores.hot, log: stores.log, recordStore: stores.records }
  const words = await Promise.all(
    Object.entries(asked).map(async ([name, store]): Promise<[string, string]> => {
      try {
        await store.check()
        return [name, 'ok']
      } catch (error) {
        return [name, error instanceof Error ? error.message : String(error)]
      }
    }),
  )
  return { ok: words.every(([, word]) => word === 'ok'), stores: Object.fromEntries(words) }
}
