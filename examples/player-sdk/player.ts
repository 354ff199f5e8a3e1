/**
 * Reports the progress of a player to Tidemark: heartbeats, batches, an offline queue that survives the tab, back-off, resume. It has no
 * dependencies; copy it into your player.
 *
 *     const reporter = makeReporter({ url: '/graphql', business: 'video', account: userId, device: 'web', headers: () => ({ authorization }) })
 *     const { position } = (await reporter.resume('42')) ?? { position: 0 }
 *     const watch = reporter.watch('42', durationMs)
 *     video.ontimeupdate = () => watch.at(video.currentTime * 1000)
 *     video.onpause = () => watch.stop(video.currentTime * 1000)
 *
 * Only the newest position of a subject counts, so the queue has one report per subject. A report keeps the time of its visit, so a repeated
 * report changes nothing. The time is by the server's clock, even if the clock of the device is wrong.
 */

export type Progress = { position: number; duration: number; viewedAt: number; device: string | null; finished: boolean }

export type Storage = Pick<globalThis.Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>

export type ReporterOptions = {
  url: string
  business: string
  /** The owner of the queue. Reports of one account are never sent for another. */
  account: string
  device?: string
  /** Headers with the credentials of the account. Called for each request, so a token can be renewed. */
  headers?: () => Record<string, string> | Promise<Record<string, string>>
  /** Milliseconds between two reports of a running player. Default 15000. */
  heartbeatMs?: number
  /** Another device has a newer position. The player may offer to continue there. */
  onStale?: (id: string, progress: Progress) => void
  /**
   * The server refused a report or a call, or cannot be reached for now (`OFFLINE`). A report with a mistake, such as `ID_INVALID`, is
   * dropped. All others stay in the queue. The next attempt is soon after `OFFLINE`, `QUOTA_EXCEEDED` and errors with
   * `extensions.retryable`, and after about a minute otherwise.
   * `STORAGE_UNAVAILABLE`, once: the storage is full or denied. Reports then wait in memory, and a closed tab loses them.
   */
  onTrouble?: (code: string, message: string) => void
  /** Milliseconds until a request without an answer is given up and sent again. Default 10000. */
  timeoutMs?: number
  /** Default: localStorage. */
  storage?: Storage
  fetch?: typeof fetch
  now?: () => number
}

export type Watch = {
  /** The player runs and is at this position. Call it as often as you like. */
  at(position: number): void
  /** The player stopped or jumped: reported at once. */
  stop(position: number, finished?: boolean): void
}

export type Reporter = {
  /** Where the viewer stopped on any device; null if there is no progress. Rejects if the server does not answer. */
  resume(id: string): Promise<Progress | null>
  /** `duration`: in milliseconds for videos, 0 if unknown. */
  watch(id: string, duration?: number): Watch
  /** Sends the waiting reports. Resolves when they are sent or the attempt failed; failed reports are sent later. */
  flush(): Promise<void>
  /** The number of reports that wait. */
  waiting(): number
  /** Ends the timers. Waiting reports stay in the storage, for the next reporter of the account. */
  close(): void
}

/** `at`: the time of the visit by the clock of the device. `viewedAt`: the same by the clock of the server. */
type Report = { id: string; position: number; duration: number; at: number; viewedAt?: number; finished?: boolean }

type Mistake = { code: string; message: string }
type Mistakes = { userErrors: Mistake[] }
type Answer = { reportProgressBatch: Mistakes & { results: Result[] } }
type Result = Mistakes & { outcome: string; dayToken: string | null; progress: Progress | null }

// The texts of operations.graphql, as `tidemark persist` prints them: a server in the mode `enforce` compares each character.
const CLOCK = `query PlayerClock {
  __typename
}`
const SEND = `mutation PlayerReport($reports: [ReportProgressInput!]!) {
  reportProgressBatch(input: {reports: $reports}) {
    results {
      outcome
      dayToken
      progress {
        position
        duration
        viewedAt
        device
        finished
      }
      userErrors {
        code
        message
      }
    }
    userErrors {
      code
      message
    }
  }
}`
const RESUME = `query PlayerResume($business: String!, $ids: [ID!]!) {
  subjects(business: $business, ids: $ids) {
    id
    viewerProgress {
      position
      duration
      viewedAt
      device
      finished
    }
  }
}`

const BATCH_MAX = 100
const SAVE_EVERY_MS = 1_000
const RETRY_FIRST_MS = 1_000
const RETRY_MAX_MS = 60_000

export function makeReporter(options: ReporterOptions): Reporter {
  const { business, device } = options
  const queue = makeQueue(makeEntries(options), `tidemark:${keyPartOf(options.account)}:${keyPartOf(business)}:`)
  const server = makeServer(options)
  let dayToken: string | undefined
  let retryMs = RETRY_FIRST_MS
  let timer: ReturnType<typeof setTimeout> | undefined
  let sending: Promise<void> | undefined
  /** True if reports were saved that the current attempt may not contain. */
  let isMore = false
  let isClosed = false

  /** Positions that a running player saves meanwhile wait for its heartbeat. A slow server would get one report per round trip otherwise. */
  async function sendAll(): Promise<void> {
    while (isMore) {
      isMore = false
      const keys = queue.keys()
      let refused: Mistake | undefined
      for (let from = 0; from < keys.length; from += BATCH_MAX) refused = (await sendBatch(keys.slice(from, from + BATCH_MAX))) ?? refused
      // The reports stay in the queue, and the next attempt waits longer.
      if (refused !== undefined)
        throw Object.assign(new Error(refused.message), { code: refused.code, retryable: refused.code === 'QUOTA_EXCEEDED' })
    }
  }

  async function sendBatch(keys: readonly string[]): Promise<Mistake | undefined> {
    const batch = queue.take(keys, await server.ahead())
    if (batch.length === 0) return undefined
    const { reportProgressBatch: answer } = await server.call<Answer>(SEND, {
      reports: batch.map(({ report }) => ({ business, device, dayToken, ...inputOf(report) })),
    })
    for (const [index, entry] of batch.entries()) {
      const result = answer.results[index]
      // If the batch as a whole is refused, it has no results.
      if (result === undefined || laterOf(result) !== undefined) continue
      queue.done(entry)
      settle(entry.report, result)
    }
    return answer.userErrors[0] ?? answer.results.map(laterOf).find((mistake) => mistake !== undefined)
  }

  function settle({ id }: Report, result: Result): void {
    dayToken = result.dayToken ?? dayToken
    if (result.outcome === 'STALE' && result.progress !== null) options.onStale?.(id, result.progress)
    complain(options, result)
  }

  /** A player does not shorten the back-off. */
  function flushUnlessWaiting(): void {
    if (timer === undefined) void flush()
  }

  function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    isMore = true
    sending ??= sendAll()
      .then(() => {
        retryMs = RETRY_FIRST_MS
      }, failed)
      .finally(() => {
        sending = undefined
      })
    return sending
  }

  function failed(error: CallError): void {
    // The error of a timeout has a number as its code.
    options.onTrouble?.(typeof error.code === 'string' ? error.code : 'OFFLINE', error.message)
    // The same call fails until somebody changes the server or the credentials.
    if (error.retryable === false) retryMs = RETRY_MAX_MS
    // Many players lose the server at the same moment. They should not reconnect at the same moment.
    const wait = Math.max(error.retryAfterMs ?? 0, retryMs * (0.5 + Math.random()))
    retryMs = Math.min(retryMs * 2, RETRY_MAX_MS)
    if (!isClosed) timer = setTimeout(() => void flush(), wait)
  }

  async function resume(id: string): Promise<Progress | null> {
    const waiting = queue.get(id)
    if (waiting !== undefined) return progressOf(waiting, device)
    const { subjects } = await server.call<{ subjects: ({ viewerProgress: Progress | null } | null)[] }>(RESUME, { business, ids: [id] })
    return subjects[0]?.viewerProgress ?? null
  }

  const onEvent = (): void => void flush()
  for (const name of EVENTS) page.addEventListener?.(name, onEvent)
  // Reports of a tab that was closed.
  if (queue.count() > 0) void flush()
  return {
    resume,
    watch: (id, duration = 0) => makeWatch(id, duration, options, queue, flushUnlessWaiting),
    flush,
    waiting: () => queue.count(),
    close() {
      isClosed = true
      clearTimeout(timer)
      for (const name of EVENTS) page.removeEventListener?.(name, onEvent)
    },
  }
}

/** Without a colon, which separates the parts of a key. `encodeURIComponent` would throw for a string that is not well-formed. */
function keyPartOf(text: string): string {
  return text.replaceAll('%', '%25').replaceAll(':', '%3A')
}

function inputOf({ id, position, duration, viewedAt, finished }: Report): object {
  return { id, position: Math.max(0, Math.floor(position)), duration: Math.max(0, Math.floor(duration)), viewedAt, finished }
}

function complain({ onTrouble }: ReporterOptions, { userErrors: [mistake] }: Mistakes): void {
  if (mistake !== undefined) onTrouble?.(mistake.code, mistake.message)
}

/** Not a mistake of the report. The operator can raise the quota, or add or enable the business. */
const LATER = new Set(['QUOTA_EXCEEDED', 'BUSINESS_UNKNOWN', 'BUSINESS_DISABLED'])

/** The mistake of a report that the server may accept later. */
function laterOf({ userErrors: [mistake] }: Result): Mistake | undefined {
  return mistake !== undefined && LATER.has(mistake.code) ? mistake : undefined
}

function progressOf({ position, duration, at, viewedAt = at, finished = false }: Report, device: string | undefined): Progress {
  return { position, duration, viewedAt, device: device ?? null, finished }
}

function makeWatch(id: string, duration: number, options: ReporterOptions, queue: Queue, flush: () => void): Watch {
  const { heartbeatMs = 15_000, now = Date.now } = options
  let saved = Number.NEGATIVE_INFINITY
  let sent = Number.NEGATIVE_INFINITY
  return {
    at(position) {
      const time = now()
      if (time - saved < SAVE_EVERY_MS) return
      saved = time
      queue.save({ id, position, duration, at: time })
      if (time - sent < heartbeatMs) return
      sent = time
      flush()
    },
    stop(position, finished) {
      saved = sent = now()
      queue.save({ id, position, duration, at: saved, ...(finished === undefined ? {} : { finished }) })
      flush()
    },
  }
}

/** The network is back, or the tab goes away. */
const EVENTS = ['online', 'pagehide']
/** Outside of a browser there are no such events. */
const page = globalThis as Partial<Pick<EventTarget, 'addEventListener' | 'removeEventListener'>>

type Entries = ReturnType<typeof makeEntries>

/** Texts in the storage, or in memory if the storage throws. Even naming `localStorage` throws if the browser denies it. */
function makeEntries({ storage, onTrouble }: ReporterOptions) {
  const memory = new Map<string, string>()
  let isTold = false

  function attempt<T>(task: (storage: Storage) => T, otherwise: T): T {
    try {
      return task(storage ?? localStorage)
    } catch (error) {
      if (!isTold) {
        isTold = true
        onTrouble?.('STORAGE_UNAVAILABLE', `the storage is full or denied, so reports wait in memory: ${(error as Error).message}`)
      }
      return otherwise
    }
  }

  return {
    keys(): string[] {
      const stored = attempt((store) => Array.from({ length: store.length }, (_, at) => store.key(at) ?? ''), [])
      return [...new Set([...stored, ...memory.keys()])]
    },
    /** An entry in memory is newer than one that the storage still has. */
    get: (key: string) => memory.get(key) ?? attempt((store) => store.getItem(key), null),
    set(key: string, text: string): void {
      memory.set(key, text)
      attempt((store) => {
        store.setItem(key, text)
        memory.delete(key)
      }, undefined)
    },
    remove(key: string): void {
      memory.delete(key)
      attempt((store) => store.removeItem(key), undefined)
    },
  }
}

type Queue = ReturnType<typeof makeQueue>
type Entry = { key: string; text: string; report: Report }

/** One report per subject: later ones replace earlier ones. Tabs of one account share it, since a report may be sent twice. */
function makeQueue(entries: Entries, prefix: string) {
  const keys = (): string[] => entries.keys().filter((key) => key.startsWith(prefix))

  function read(key: string): Report | undefined {
    const text = entries.get(key)
    try {
      return text === null ? undefined : (JSON.parse(text) as Report)
    } catch {
      entries.remove(key)
      return undefined
    }
  }

  return {
    keys,
    count: () => keys().length,
    get: (id: string) => read(prefix + id),
    save: (report: Report) => entries.set(prefix + report.id, JSON.stringify(report)),
    /** The time of a visit by the server's clock is fixed before the first attempt, so that every attempt is the same report. */
    take: (some: readonly string[], ahead: number): Entry[] =>
      some.flatMap((key) => {
        const report = read(key)
        if (report === undefined) return []
        report.viewedAt ??= Math.floor(report.at + ahead)
        const text = JSON.stringify(report)
        entries.set(key, text)
        return [{ key, text, report }]
      }),
    /** A newer position may have been saved meanwhile, and waits for the next batch. */
    done({ key, text }: Entry): void {
      if (entries.get(key) === text) entries.remove(key)
    },
  }
}

/** `retryable`: false unless the server's error says that it is retryable. Undefined if there is no such error, as after a timeout. */
type CallError = Error & { code?: unknown; retryable?: boolean; retryAfterMs?: number }
type Body<T> = { data?: T; errors?: { message: string; extensions?: { code?: string; retryable?: boolean; retryAfterMs?: number } }[] }

function makeServer({ url, headers, timeoutMs = 10_000, fetch: send = fetch, now = Date.now }: ReporterOptions) {
  let ahead: number | undefined
  let isAsked = false

  /** Rejects with a `CallError` if a field has no answer. */
  async function call<T>(query: string, variables: object): Promise<T> {
    const credentials = await headers?.()
    const signal = AbortSignal.timeout(timeoutMs)
    const response = await send(url, {
      method: 'POST',
      // The browser finishes the request even if the tab is closed.
      keepalive: true,
      signal,
      headers: { ...credentials, 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ query, variables }),
    })
    const date = Date.parse(response.headers.get('date') ?? '')
    // The header has whole seconds, cut off, so each answer gives a lower bound. The highest one is the best, and none is in the future.
    if (!Number.isNaN(date)) ahead = Math.max(ahead ?? Number.NEGATIVE_INFINITY, date - now())
    const { data, errors } = (await response.json().catch(() => ({}))) as Body<T>
    signal.throwIfAborted()
    if (data != null && !Object.values(data).includes(null)) return data
    const [error] = errors ?? []
    if (error === undefined) throw new Error(`the server answered with status ${response.status}`)
    throw Object.assign(new Error(error.message), { retryable: false }, error.extensions)
  }

  return {
    call,
    /** The server's clock minus that of the device, in milliseconds. 0 if the server does not show its time. */
    async ahead(): Promise<number> {
      if (ahead === undefined && !isAsked) await call(CLOCK, {})
      isAsked = true
      return ahead ?? 0
    },
  }
}
