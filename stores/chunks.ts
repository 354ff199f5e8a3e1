/** Splits long lists into chunks, in order. */

export function chunked<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, chunk) => items.slice(chunk * size, (chunk + 1) * size))
}

/** Chunks of at most `weightMax` in all, unless one item alone has more. */
export function chunkedByWeight<T>(items: readonly T[], weightMax: number, weightOf: (item: T) => number): T[][] {
  const chunks: T[][] = []
  let weight = Infinity
  for (const item of items) {
    const own = weightOf(item)
    weight += own
    if (weight > weightMax) {
      chunks.push([])
      weight = own
    }
    chunks.at(-1)?.push(item)
  }
  return chunks
}
