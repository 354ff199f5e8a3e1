import { randomBelow, type Random } from '../../../core/random.ts'
import type { Opened } from './opened.ts'

/** Every call starts late and answers late, each by a few turns of the event loop. */
export function slowDown(opened: Opened, random: Random): void {
  for (const store of [opened.stores.hot, opened.stores.records] as Record<string, any>[]) {
    for (const [method, call] of Object.entries(store)) {
      if (typeof call !== 'function' || method === 'close' || method === 'partOf') continue
      store[method] = async (...args: unknown[]) => {
        await turns(randomBelow(random, 5))
        const answer = await call(...args)
        await turns(randomBelow(random, 5))
        return answer
      }
    }
  }
}

export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}
