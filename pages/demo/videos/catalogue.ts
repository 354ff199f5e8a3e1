/** The videos of the demo. A real site has its catalogue in a subgraph of its own; Tidemark has only their ids. */
import { randomOf, seedOf, shuffled } from '../random.ts'

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

const BY_ID = new Map(CATALOGUE.map((video) => [video.id, video]))

/** Undefined for a video of another application in the same store. */
export function videoOf(id: string): Video | undefined {
  return BY_ID.get(id)
}
