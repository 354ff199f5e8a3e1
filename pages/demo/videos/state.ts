/** The state of the video site and the actions of its buttons. Every action is one call of the public API, and its answer updates the facts. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { makeReporter } from '../../../examples/player-sdk/player.ts'
import { headersOf, type Identity, type Live } from '../../shared/api.ts'
import { useBeginning, type Ask, type Asking } from '../asking.ts'
import { forgetProgress, learn } from '../facts.ts'
import { useCounts, type Connection } from '../live.ts'
import { MARK, type SetMark } from '../operations.ts'
import { rankedFor } from './catalogue.ts'
import { CHANGES, CLEAR, DELETE, HISTORY, NEXT, PAUSE, SERVED } from './operations.ts'
import type { Changes, Clear, Delete, History, Next, Pause, Served } from './operations.ts'
import { fillIfEmpty } from './sample.ts'

const PAGE = 8
const HEARTBEAT_MS = 2_000

export function useVideos(identity: Identity, viewer: string, device: string, asking: Asking, live: Connection) {
  const { ask, tell } = asking
  const { history, paused, setPaused, readHistory } = useHistory(ask)
  const [feed, setFeed] = useState<readonly string[]>([])
  const [isFeedOver, setFeedOver] = useState(false)
  useCounts(live, ask, 'video', [...feed, ...history])
  useChanges(live.connection, () => void readHistory())
  const reporter = useMemo(
    () =>
      makeReporter({
        url: '/graphql',
        business: 'video',
        account: viewer,
        device,
        headers: () => headersOf(identity),
        heartbeatMs: HEARTBEAT_MS,
      }),
    [identity],
  )
  useEffect(() => () => reporter.close(), [reporter])

  async function more(shown: readonly string[] = feed): Promise<void> {
    const candidates = rankedFor(viewer).filter((id) => !shown.includes(id))
    const next = await ask<Next>(NEXT, { candidates })
    if (next?.data?.unseen == null) return
    const ids = next.data.unseen.ids.slice(0, PAGE)
    setFeedOver(ids.length === 0)
    if (ids.length === 0) return
    const served = await ask<Served>(SERVED, { ids })
    learn(served?.data?.recordIssued?.subjects ?? [])
    setFeed([...shown, ...ids])
  }

  useBeginning(asking, identity, async (signal) => {
    if (await fillIfEmpty(identity, viewer, Date.now()))
      tell(`${viewer} had no history, so a sample was written: views of this week, and likes of others.`)
    if (!signal.aborted) await Promise.all([more([]), readHistory()])
  })

  return {
    ...{ feed, isFeedOver, history, paused, reporter },
    more: () => more(),
    async like(id: string, mark: 'LIKE' | 'NONE'): Promise<void> {
      const answer = await ask<SetMark>(MARK, { business: 'video', id, mark })
      learn([answer?.data?.setMark?.subject])
    },
    async remove(id: string): Promise<void> {
      const answer = await ask<Delete>(DELETE, { ids: [id] })
      learn(answer?.data?.deleteHistory?.subjects ?? [])
      await readHistory()
    },
    async clear(): Promise<void> {
      const answer = await ask<Clear>(CLEAR)
      if (answer?.data?.clearHistory?.clearedAt == null) return
      forgetProgress()
      await readHistory()
    },
    async pause(next: boolean): Promise<void> {
      const answer = await ask<Pause>(PAUSE, { paused: next })
      const settings = answer?.data?.updateHistorySettings?.settings
      if (settings != null) setPaused(settings.paused)
    },
  }
}

function useHistory(ask: Ask) {
  const [history, setHistory] = useState<readonly string[]>([])
  const [paused, setPaused] = useState(false)

  async function readHistory(): Promise<void> {
    const answer = await ask<History>(HISTORY)
    const page = answer?.data?.viewerHistory
    if (page == null) return
    const subjects = page.edges.flatMap(({ node }) => (node === null ? [] : [node]))
    learn(subjects)
    setHistory(subjects.map(({ id }) => id))
    if (answer?.data?.historySettings != null) setPaused(answer.data.historySettings.paused)
  }

  return { history, paused, setPaused, readHistory }
}

/** Changes of this viewer from all devices. */
function useChanges(connection: Live | undefined, onChange: () => void): void {
  useEffect(() => {
    let last: string | undefined
    const since = {
      get since() {
        return last
      },
    }
    return connection?.follow<Changes>(CHANGES, since, ({ data }) => {
      const change = data?.progressChanged
      if (change == null) return
      last = change.token
      if (change.kind === 'CLEARED') forgetProgress()
      else learn([change.subject])
      onChange()
    })
  }, [connection])
}
