/** The live connection of the page, and the counts that it follows. */
import { useEffect, useState } from 'preact/hooks'
import { connect, isRefusal, type CallFailed, type Identity, type Live } from '../shared/api.ts'
import type { Ask } from './asking.ts'
import { learn } from './facts.ts'
import { COUNTS, SUBJECTS, type Counts, type Subjects } from './operations.ts'

const IDS_MAX = 200

/** `connection`: undefined before the first render ends. */
export type Connection = { connection: Live | undefined; isLive: boolean }

/** One WebSocket for the caller. `fail` gets a refusal. */
export function useConnection(identity: Identity, fail: (failure: CallFailed) => void): Connection {
  const [connection, setConnection] = useState<Live>()
  const [isLive, setLive] = useState(false)
  useEffect(() => {
    const opened = connect(identity, (failure) => {
      setLive(failure === undefined)
      if (failure !== undefined && isRefusal(failure)) fail(failure)
    })
    setConnection(opened)
    return () => opened.close()
  }, [identity])
  return { connection, isLive }
}

/** Follows the counts of the subjects on the page. `visible`: their ids. */
export function useCounts({ connection, isLive }: Connection, ask: Ask, business: string, visible: readonly string[]): void {
  const ids = [...new Set(visible)].toSorted().slice(0, IDS_MAX)
  useEffect(() => {
    if (ids.length === 0) return undefined
    return connection?.follow<Counts>(COUNTS, { business, ids }, ({ data }) => learn(data?.countsChanged?.subjects ?? []))
  }, [connection, ids.join()])

  // Counts may have changed while there was no connection.
  useEffect(() => {
    if (isLive && ids.length > 0) void ask<Subjects>(SUBJECTS, { business, ids }).then((answer) => learn(answer?.data?.subjects ?? []))
  }, [isLive])
}
