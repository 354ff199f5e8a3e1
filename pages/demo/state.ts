/** The state of the page and the actions of its buttons. Every action is one call of the public API, and its answer updates the facts. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { makeReporter } from '../../examples/player-sdk/player.ts'
import { CallFailed, headersOf, isRefusal, type Identity } from '../shared/api.ts'
import { useAsking } from './asking.ts'
import { rankedFor } from './catalogue.ts'
import { forgetAll, forgetProgress, learn } from './facts.ts'
import { useLive } from './live.ts'
import { CLEAR, DELETE, HISTORY, MARK, NEXT, PAUSE, SERVED } from './operations.ts'
import type { Clear, Delete, History, Next, Pause, Served, SetMark } from './operations.ts'
import { fillIfEmpty } from './sample.ts'

const PAGE = 8
const RETRY_MS = 2_000
const HEARTBEAT_MS = 2_000

export function useDemo(identity: Identity, viewer: string, device: string) {
  const { ask, fail, notice, needsToken, isRefused, tell } = useAsking(identity)
  const { history, paused, setPaused, readHistory } = useHistory(ask)
  const [feed, setFeed] = useState<readonly string[]>([])
  const [isFeedOver, setFeedOver] = useState(false)
  const isLive = useLive(identity, [...feed, ...history], { ask, fail, onChange: () => void readHistory() })
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

  // Repeats the first calls until they succeed, because a server that is down may recover.
  useEffect(() => {
    let isGone = false
    setFeed([])
    forgetAll()
    async function begin(): Promise<void> {
      try {
        if (await fillIfEmpty(identity, viewer, Date.now()))
          tell(`${viewer} had no history, so a sample was written: views of this week, and likes of others.`)
        if (!isGone) await Promise.all([more([]), readHistory()])
      } catch (error) {
        fail(error)
        const isFinal = error instanceof CallFailed && isRefusal(error)
        if (!isGone && !isFinal) setTimeout(() => void begin(), RETRY_MS)
      }
    }
    void begin()
    return () => {
      isGone = true
    }
  }, [identity])

  return {
    ...{ feed, isFeedOver, history, paused, notice, needsToken, isRefused, isLive, reporter },
    more: () => more(),
    async like(id: string, mark: 'LIKE' | 'NONE'): Promise<void> {
      const answer = await ask<SetMark>(MARK, { id, mark })
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

function useHistory(ask: ReturnType<typeof useAsking>['ask']) {
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
