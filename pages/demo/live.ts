/** The subscriptions: changes of this viewer from all devices, and counts of all videos on the page. */
import { useEffect, useState } from 'preact/hooks'
import { connect, isRefusal, type CallFailed, type Identity, type Live } from '../shared/api.ts'
import type { Ask } from './asking.ts'
import { forgetProgress, learn } from './facts.ts'
import { CHANGES, COUNTS, SUBJECTS, type Changes, type Counts, type Subjects } from './operations.ts'

const IDS_MAX = 200

/** `visible`: the ids on the page. Returns whether a connection is open. */
export function useLive(
  identity: Identity,
  visible: readonly string[],
  { ask, fail, onChange }: { ask: Ask; fail(failure: CallFailed): void; onChange(): void },
): boolean {
  const [connection, setConnection] = useState<Live>()
  const [isLive, setLive] = useState(false)
  const ids = [...new Set(visible)].toSorted().slice(0, IDS_MAX)

  useEffect(() => {
    const opened = connect(identity, (failure) => {
      setLive(failure === undefined)
      if (failure !== undefined && isRefusal(failure)) fail(failure)
    })
    setConnection(opened)
    return () => opened.close()
  }, [identity])

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

  useEffect(() => {
    if (ids.length === 0) return undefined
    return connection?.follow<Counts>(COUNTS, { ids }, ({ data }) => learn(data?.countsChanged?.subjects ?? []))
  }, [connection, ids.join()])

  // Counts may have changed while there was no connection.
  useEffect(() => {
    if (isLive && ids.length > 0) void ask<Subjects>(SUBJECTS, { ids }).then((answer) => learn(answer?.data?.subjects ?? []))
  }, [isLive])

  return isLive
}
