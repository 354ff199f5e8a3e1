/**
 * `tidemark sample` prints realistic traffic from a seed. The same options give the same lines on every machine. Subjects follow a Zipf
 * law. Viewers have sessions on one of a few devices, with a heartbeat every 15 s.
 */
import { randomBelow, seededRandom, type Random } from '../../core/random.ts'

export type SampleOptions = {
  viewers: number
  subjects: number
  /** Lines to write. */
  reports: number
  seed: number
  /** The exponent of the Zipf law. Video sites measure about 1. */
  skew: number
  /** Milliseconds since the epoch of the first session. */
  from: number
  businesses: readonly string[]
}

export type SampleReport = {
  viewer: string
  business: string
  id: string
  position: number
  duration: number
  viewedAt: number
  device: string
}

const HEARTBEAT_MS = 15_000
const DEVICES = ['phone', 'tablet', 'tv', 'web'] as const
const DAY_MS = 86_400_000

/** Reports ordered by session, each session by time. */
export function* sampleReports(options: SampleOptions): Generator<SampleReport> {
  const random = seededRandom(options.seed)
  const pickSubject = makeZipf(options.subjects, options.skew, random)
  let written = 0
  let clock = options.from
  while (written < options.reports) {
    const viewer = String(1 + randomBelow(random, options.viewers))
    const device = DEVICES[randomBelow(random, DEVICES.length)] as string
    let now = clock
    clock += randomBelow(random, Math.max(1, Math.floor(DAY_MS / options.viewers)))
    const subjects = 1 + randomBelow(random, 5)
    for (let watched = 0; watched < subjects && written < options.reports; watched++) {
      const subject = pickSubject()
      const business = options.businesses[subject % options.businesses.length] as string
      // A subject's length depends on the subject alone, between 30 s and 65 minutes.
      const duration = 30_000 + ((subject * 2_654_435_761) % 3_870_000)
      const stop = Math.ceil(duration * random())
      for (let position = HEARTBEAT_MS; position < stop + HEARTBEAT_MS && written < options.reports; position += HEARTBEAT_MS) {
        now += HEARTBEAT_MS
        written++
        yield { viewer, business, id: String(subject), position: Math.min(position, stop), duration, viewedAt: now, device }
      }
    }
  }
}

/** Draws ranks 1 to `count` by inversion of the summed weights. Rank 1 is the most likely. */
function makeZipf(count: number, skew: number, random: Random): () => number {
  const sums = new Float64Array(count)
  let total = 0
  for (let rank = 1; rank <= count; rank++) {
    total += 1 / rank ** skew
    sums[rank - 1] = total
  }
  return () => {
    const target = random() * total
    let low = 0
    let high = count - 1
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((sums[middle] as number) < target) low = middle + 1
      else high = middle
    }
    return low + 1
  }
}
