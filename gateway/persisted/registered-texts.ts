/**
 * Texts that clients registered (automatic persisted queries), by their SHA-256, which was checked on arrival. Each process has its own
 * texts: if it does not know an id, the client sends the text again. Texts stay as long as the memory of clients has room.
 */
import type { ClientMemory, Holding } from '../memory/client-memory.ts'
import { textBytes } from '../memory/estimates.ts'
import { NOTHING_HELD } from '../memory/family.ts'

export type RegisteredTexts = {
  get(id: string): string | undefined
  set(id: string, text: string): void
  readonly size: number
}

/** The cost of sending a text again. */
const COST_MS = 1

export function makeRegisteredTexts(memory: ClientMemory): RegisteredTexts {
  const texts = new Map<string, { text: string; holding: Holding }>()
  return {
    get(id) {
      const known = texts.get(id)
      known?.holding.touch()
      return known?.text
    },
    set(id, text) {
      if (texts.has(id)) return
      const entry = { text, holding: NOTHING_HELD }
      texts.set(id, entry)
      entry.holding = memory.hold('registered', textBytes(text) + textBytes(id), COST_MS, () => texts.delete(id))
    },
    get size() {
      return texts.size
    },
  }
}
