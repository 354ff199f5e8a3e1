/**
 * The plays that were sent, and the acknowledged ones by their way. A play that the hot store itself acknowledged is firm: a read that
 * begins later must not show it. A play that the log acknowledged must be there after quiet.
 */
export type Way = 'API' | 'API, log' | 'log' | 'late server' | 'legacy'

/** `playedAt`: undefined if the server set the time. */
export type SentPlay = { viewer: string; oid: string; playedAt: number | undefined }

export type Ledger = {
  acknowledge(play: SentPlay, way: Way): void
  /** Plays that must not be shown any more. */
  firm(viewer: string): readonly string[]
  /** All acknowledged plays. */
  plays(): readonly SentPlay[]
  viewers(): string[]
  counts(): Readonly<Record<Way, number>>
}

export function makeLedger(): Ledger {
  const firm = new Map<string, string[]>()
  const plays: SentPlay[] = []
  const counts: Record<Way, number> = { API: 0, 'API, log': 0, log: 0, 'late server': 0, legacy: 0 }
  return {
    acknowledge(play, way) {
      counts[way]++
      plays.push(play)
      if (way === 'log' || way === 'API, log') return
      const own = firm.get(play.viewer) ?? []
      firm.set(play.viewer, own)
      own.push(play.oid)
    },
    firm: (viewer) => firm.get(viewer) ?? [],
    plays: () => plays,
    viewers: () => [...new Set(plays.map(({ viewer }) => viewer))],
    counts: () => counts,
  }
}
