/** The answers of `/console/state` and `/console/viewer`. Times are in milliseconds since 1970. */

/** Null while the store that knows it is down. Absent if no part of the process has it. */
export type Figures = Partial<
  Record<
    | 'reports'
    | 'marks'
    | 'plays'
    | 'posts'
    | 'candidates'
    | 'flushes'
    | 'rows'
    | 'dirty'
    | 'lag'
    | 'journal'
    | 'sockets'
    | 'subscriptions'
    | 'requests',
    number | null
  >
>
export type FigureName = keyof Figures

export type StoreStates = Readonly<Record<string, string>>

export type Operation = { kind: string; name: string; count: number; failed: number; cost: number }
export type HotSubject = { business: string; id: string; share: number; perSecond: number }
/** `url` is absent for a subgraph in the process. */
export type Subgraph = { name: string; url?: string; isDown: boolean; fetches: number; failed: number }

export type State = {
  at: number
  process: { id: number; mode: string; shape: 'embedded' | 'distributed'; workers: number; upMs: number }
  ready: {
    ok: boolean
    stores: StoreStates
    tenants?: Readonly<Record<string, Readonly<Record<string, string | false>>>>
    writes?: false
    warnings?: readonly string[]
  }
  downSince: Readonly<Record<string, number>>
  figures: Figures
  /** Requests that took at most this many seconds. */
  latency: readonly { seconds: number; count: number }[]
  operations: readonly Operation[]
  hot: readonly HotSubject[]
  supergraph: { hash: string; subgraphs: readonly Subgraph[] }
}

type MarkedSubject = { business: string; id: string; markedAt: number }

type HistoryEntry = {
  business: string
  id: string
  position: number
  duration: number
  device: string
  viewedAt: number
  finished: boolean
  /** Whether the record store has this version. */
  persisted: boolean
}

/** The stored data of one viewer. `tidemark inspect viewer` prints it too. */
export type ViewerData = {
  viewer: string
  region: number
  regions: number
  paused: boolean
  /** Businesses with a cleared history, and the time up to which it is cleared. */
  cleared: readonly { business: string; upTo: number }[]
  /** The newest entries of the history. */
  entries: readonly HistoryEntry[]
  hasMoreEntries: boolean
  /** The newest likes of each business. */
  likes: readonly MarkedSubject[]
  /** The newest dislikes of each business, as they are persisted. */
  dislikes: readonly MarkedSubject[]
  /** Served and played subjects and filters, as sentences. */
  seen: readonly string[]
  /** Sentences about the viewer's posts, inbox, filter words and follows. */
  feed: readonly string[]
}
