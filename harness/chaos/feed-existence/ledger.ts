/**
 * Which plays were sent, and which were acknowledged, by whom. What the hot store itself has acknowledged is firm: nobody who
 * begins to read afterwards may be shown it. What the log has acknowledged is there when all is quiet.
 */
export type Way = 'API' | 'API, log' | 'log' | 'late server' | 'legacy'

/** `playedAt`: undefined where the server said. */
export type SentPlay = { viewer: string; oid: string; playedAt: number | undefined }

export type Ledger = {
  acknowledge(play: SentPlay, way: Way): void
  /** What nobody may be shown any more. */
  firm(viewer: string): readonly string[]
  /** All that was acknowledged. */
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
