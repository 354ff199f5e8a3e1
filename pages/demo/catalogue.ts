/** The videos of the demo. A real site has its catalogue in a subgraph of its own; Tidemark has only their ids. */

export type Video = {
  readonly id: string
  readonly title: string
  readonly channel: string
  readonly durationMs: number
  readonly hue: number
}

const PLACES = ['the Wadden Sea', 'Lake Baikal', 'the Amazon', 'Lofoten', 'the Great Reef', 'Venice', 'the Nile', 'Patagonia']
const KINDS = ['Tides of', 'A night on', 'The birds of', 'Sailing', 'Who lives in', 'Mapping']
const CHANNELS = ['Slow Water', 'Field Notes', 'Harbour TV']

export const CATALOGUE: readonly Video[] = KINDS.flatMap((kind, row) =>
  PLACES.map((place, column): Video => {
    const number = row * PLACES.length + column + 1
    return {
      id: `demo-${number}`,
      title: `${kind} ${place}`,
      channel: CHANNELS[number % CHANNELS.length] as string,
      durationMs: (180 + ((number * 97) % 600)) * 1_000,
      hue: (number * 47) % 360,
    }
  }),
)

/** The catalogue in an order of the viewer's own, as a recommender would rank it. */
export function rankedFor(viewer: string): string[] {
  const random = randomOf(seedOf(viewer))
  return shuffled(CATALOGUE, random).map(({ id }) => id)
}

/** A number that depends on the text only. */
export function seedOf(text: string): number {
  let seed = 7
  for (const letter of text) seed = Math.imul(seed, 31) + (letter.codePointAt(0) ?? 0)
  return seed
}

/** Fisher and Yates. */
export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const all = [...items]
  for (let last = all.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    const taken = all[last] as T
    all[last] = all[other] as T
    all[other] = taken
  }
  return all
}

/** Numbers from 0 to 1 that depend on the seed only: mulberry32, by Tommy Ettinger. */
export function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const BY_ID = new Map(CATALOGUE.map((video) => [video.id, video]))

/** Undefined for a video of another application in the same store. */
export function videoOf(id: string): Video | undefined {
  return BY_ID.get(id)
}
