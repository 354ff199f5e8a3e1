/** Calls of the page. A notice of one line shows each failure. */
import { useEffect, useState } from 'preact/hooks'
import { call, CallFailed, isRefusal, needsIdentity, sentenceOf, type Answer, type Identity } from '../shared/api.ts'
import { degradedText } from '../shared/ui.ts'
import type { UserErrors } from './operations.ts'

/** `mistake`: the operation with a refused input. The notice stays until it succeeds. Any answer ends other trouble. */
export type Notice = { kind: 'trouble' | 'news'; text: string; mistake?: string }
const RETRY_MS = 2_000

export type Ask = <T>(query: string, variables?: object) => Promise<Answer<T> | undefined>

export type Asking = ReturnType<typeof useAsking>

export function useAsking(identity: Identity) {
  const [notice, setNotice] = useState<Notice>()
  const [last, setLast] = useState<CallFailed>()

  function fail(error: unknown): void {
    const failure = error instanceof CallFailed ? error : new CallFailed('INTERNAL', String(error))
    setLast(failure)
    setNotice({ kind: 'trouble', text: sentenceOf(failure) })
  }

  /** Undefined if there was no answer. The notice then gives the reason. */
  async function ask<T>(query: string, variables: object = {}): Promise<Answer<T> | undefined> {
    try {
      const answer = await call<T>(identity, query, variables)
      const mistakes = Object.values(answer.data ?? {}).flatMap((payload) => mistakesOf(payload as Payload | null))
      const [error] = answer.errors
      if (answer.degraded.length > 0) setNotice({ kind: 'trouble', text: degradedText(answer.degraded) })
      else if (error !== undefined) fail(new CallFailed(error.extensions?.code ?? 'INTERNAL', error.message))
      else if (mistakes[0] !== undefined) setNotice({ kind: 'trouble', text: mistakes[0].message, mistake: query })
      else setNotice((old) => (old?.kind === 'trouble' && (old.mistake ?? query) === query ? undefined : old))
      return answer
    } catch (error) {
      fail(error)
      return undefined
    }
  }

  return {
    ...{ ask, fail, notice },
    needsToken: last !== undefined && needsIdentity(last),
    isRefused: last !== undefined && isRefusal(last),
    tell: (text: string) => setNotice({ kind: 'news', text }),
  }
}

type Payload = Partial<UserErrors> & { results?: readonly Partial<UserErrors>[] }

/** Of the whole call, and of each of its inputs. */
function mistakesOf(payload: Payload | null): UserErrors['userErrors'] {
  return [payload, ...(payload?.results ?? [])].flatMap((each) => each?.userErrors ?? [])
}

/**
 * Calls `begin` once, and again while it rejects, because a server that is down may recover. A refusal is final. `begin` stops early when
 * its signal is aborted.
 */
export function useBeginning({ fail }: Asking, identity: Identity, begin: (signal: AbortSignal) => Promise<void>): void {
  useEffect(() => {
    const gone = new AbortController()
    async function attempt(): Promise<void> {
      try {
        await begin(gone.signal)
      } catch (error) {
        if (gone.signal.aborted) return
        fail(error)
        const isFinal = error instanceof CallFailed && isRefusal(error)
        if (!isFinal) setTimeout(() => void attempt(), RETRY_MS)
      }
    }
    void attempt()
    return () => gone.abort()
  }, [identity])
}
