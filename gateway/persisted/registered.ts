/**
 * Texts that clients registered themselves (automatic persisted queries), by the SHA-256 that was checked when they came.
 * One store per process: a client whose id another process knows is told so and sends the text once more. Bounded by
 * count and by bytes; what was not asked for the longest time goes first.
 */
export type Registered = {
  get(id: string): string | undefined
  set(id: string, text: string): void
  readonly size: number
}

export function makeRegistered(countMax: number, bytesMax: number): Registered {
  const texts = new Map<string, string>()
  let bytes = 0
  function remove(id: string): void {
    bytes -= bytesOf(texts.get(id))
    texts.delete(id)
  }
  return {
    get(id) {
      const text = texts.get(id)
      if (text === undefined) return undefined
      texts.delete(id)
      texts.set(id, text)
      return text
    },
    set(id, text) {
      remove(id)
      if (bytesOf(text) > bytesMax) return
      texts.set(id, text)
      bytes += bytesOf(text)
      for (const oldest of texts.keys()) {
        if (texts.size <= countMax && bytes <= bytesMax) break
        remove(oldest)
      }
    },
    get size() {
      return texts.size
    },
  }
}

/** What V8 takes for it at most: two bytes a character, and some for the entry. */
function bytesOf(text: string | undefined): number {
  return text === undefined ? 0 : text.length * 2 + 200
}
