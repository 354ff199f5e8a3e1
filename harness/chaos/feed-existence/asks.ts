/** The reads of a lane: a viewer is never shown a play that was firm when the call began. */
import { randomBelow } from '../../../core/random.ts'
import type { Lane } from '../lane.ts'
import type { Ledger } from './ledger.ts'
import { SEEN, UNSEEN, type Issued, type Seen, type SeenWriterOptions, type Strangers } from './writer-options.ts'

const CANDIDATES_MAX = 480
const STRANGE = 20

/** `figures`: shared by all lanes. */
export function makeAsks(lane: Lane, ledger: Ledger, issued: Issued, figures: Strangers, options: SeenWriterOptions) {
  const { random, insist } = lane
  const below = (end: number): number => randomBelow(random, end)
  const pickViewer = (): string => String(1 + below(options.viewers))

  async function ask(): Promise<void> {
    const viewer = pickViewer()
    const firm = new Set([...some(ledger.firm(viewer), CANDIDATES_MAX - 100), ...some(issued.get(viewer) ?? [], 60)])
    const strange = Array.from({ length: STRANGE }, () => `s${below(1e9)}`)
    const { data, degraded } = await insist<{ unseen: { ids: string[] } }>('unseen', viewer, UNSEEN, { ids: [...firm, ...strange] })
    if (degraded.size > 0) return
    const shown = new Set(data.unseen.ids)
    for (const oid of firm) if (shown.has(oid)) options.onWrong(`viewer ${viewer} is shown ${oid}, which was acknowledged`)
    figures.strange += STRANGE
    figures.strangeHidden += strange.filter((oid) => !shown.has(oid)).length
  }

  async function askReasons(): Promise<void> {
    const viewer = pickViewer()
    const ids = [...new Set(some(ledger.firm(viewer), 150))]
    if (ids.length === 0) return
    const { data, degraded } = await insist<Seen>('seen', viewer, SEEN, { ids })
    if (degraded.size > 0) return
    for (const { id, viewerSeen } of data.subjects)
      if (viewerSeen !== 'PLAYED' && viewerSeen !== 'PLAYED_PROBABLY')
        options.onWrong(`viewer ${viewer}: ${id} was watched, and viewerSeen is ${viewerSeen}`)
  }

  /** The newest, and a random one of the others. */
  function some(ids: readonly string[], max: number): string[] {
    const newest = ids.slice(-Math.floor(max / 2))
    return [...newest, ...Array.from({ length: Math.min(ids.length, max - newest.length) }, () => ids[below(ids.length)] as string)]
  }

  return { ask, askReasons }
}
