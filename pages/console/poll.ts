/** Asks for the state every second and a half while the page is visible, and keeps the points of the last minutes. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { CallFailed, read, sentenceOf, type Identity } from '../shared/api.ts'
import type { State } from './answer.ts'
import { pointOf, type Point } from './rates.ts'

const EVERY_MS = 1_500
const POINTS_MAX = 120

/** After these codes the page needs another token. Further calls would count against the address. */
const FINAL: ReadonlySet<string> = new Set(['UNAUTHENTICATED', 'TOKEN_EXPIRED', 'FORBIDDEN'])

export type Polled = {
  state: State | undefined
  points: readonly Point[]
  /** The reason why there is no new state, as a sentence. */
  trouble: string | undefined
  needsToken: boolean
}

export function usePoll(identity: Identity): Polled {
  const [polled, setPolled] = useState<Polled>({ state: undefined, points: [], trouble: undefined, needsToken: false })
  const last = useRef<State | undefined>(undefined)

  useEffect(() => {
    let isGone = false
    let timer: ReturnType<typeof setTimeout> | undefined

    async function ask(): Promise<void> {
      if (document.hidden) return later()
      try {
        take(await read<State>(identity, '/console/state'))
      } catch (error) {
        const failure = error instanceof CallFailed ? error : new CallFailed('INTERNAL', String(error))
        const isFinal = FINAL.has(failure.code)
        if (isGone) return
        setPolled((old) => ({ ...old, ...(isFinal && { state: undefined }), trouble: sentenceOf(failure), needsToken: isFinal }))
        if (isFinal) return
      }
      later()
    }
    function later(): void {
      if (!isGone) timer = setTimeout(() => void ask(), EVERY_MS)
    }
    function take(state: State): void {
      if (isGone) return
      // Another process of `--workers` may answer. Its counters are the same sums.
      const point = last.current === undefined ? undefined : pointOf(last.current, state)
      last.current = state
      setPolled(({ points }) => ({
        state,
        points: point === undefined ? points : [...points, point].slice(-POINTS_MAX),
        trouble: undefined,
        needsToken: false,
      }))
    }
    void ask()
    return () => {
      isGone = true
      clearTimeout(timer)
    }
  }, [identity])

  return polled
}
