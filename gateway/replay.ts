/**
 * An answer all parts of which come again is not made again. A query whose fetches all go to remote subgraphs depends on its
 * variables and on the bytes they send, and on nothing else; what a run asked them, which remembered answers it got
 * (transports/remembered.ts), and the bytes of its own answer are a recording. The next run with these variables makes
 * the same calls in the same order: each is really made, for who asks now. If every answer is byte by byte the recorded one, so
 * is what the client gets, and nothing is parsed, copied, merged, projected or serialized.
 *
 * The order of events where one answer is another:
 *   1. calls of the recording are sent, each when all that it depends on has come as recorded;
 *   2. an answer differs, or a call fails: no more are sent;
 *   3. the run starts over without the recording. Up to that point it asks what has been asked, and takes those answers, also
 *      the ones still under way. Nothing is asked twice.
 *
 * Only answers without any error are recorded. Who may not see something has an operation of his own, with its own
 * recordings; mutations and subscriptions have none; nor have operations that ask a subgraph of this process, whose data
 * may be different each time. A recording whose answer does not come any more is forgotten at once, the others when they weigh too
 * much, the oldest first.
 */
import { makeLru } from './lru.ts'
import { ownResult } from './transports/remembered.ts'
import type { Kept, Read } from './transports/remembered.ts'
import type { FetchResult, FetchVariables, Wire } from './transports/transport.ts'

/** By the number of the fetch in its plan; undefined where nothing is sent. */
type ByFetch<Value> = readonly (Value | undefined)[]

export type Recording = {
  readonly calls: ByFetch<string>
  readonly kept: ByFetch<Kept>
  /** The answer as JSON. */
  readonly json: Buffer
}

/** A call that has been sent, and what comes of it. */
type Begun = { readonly call: string; readonly reading: Promise<Read> }

/** A run along a recording. */
export type Replay = {
  readonly recording: Recording
  readonly begun: (Begun | undefined)[]
  diverged: boolean
  /** Called once: how it went. */
  end(outcome: 'same' | 'differs' | 'failed'): void
}

/** What an ordinary run notes, so that it may become a recording. */
export type Notes = {
  readonly calls: (string | undefined)[]
  readonly kept: (Kept | undefined)[]
  /** What a replay asked before it gave up. */
  readonly begun: ByFetch<Begun>
  allKept: boolean
}

export type Replays = {
  get(key: string): Recording | undefined
  /** The answer's bytes; kept if they and the calls are short enough. */
  set(key: string, notes: Notes, json: Buffer): void
  forget(key: string): void
  clear(): void
  /** In bytes, roughly. */
  weight(): number
}

/** What the recordings of an engine may weigh together, and one of them. */
const WEIGHT_MAX = 16_777_216
const RECORDING_WEIGHT_MAX = 1_048_576
const RECORDINGS_MAX = 1_000

export function makeReplays(): Replays {
  let weight = 0
  const recordings = makeLru<Recording>(RECORDINGS_MAX, (key, recording) => (weight -= weightOf(key, recording)))
  return {
    get: recordings.get,
    set(key, { calls, kept }, json) {
      const recording = { calls, kept, json }
      const own = weightOf(key, recording)
      if (own > RECORDING_WEIGHT_MAX) return
      recordings.set(key, recording)
      weight += own
      while (weight > WEIGHT_MAX) recordings.forgetOldest()
    },
    forget: recordings.forget,
    clear: recordings.clear,
    weight: () => weight,
  }
}

/** Characters are counted as two bytes each. */
function weightOf(key: string, { calls, json }: Recording): number {
  return calls.reduce((sum, call) => sum + (call?.length ?? 0) * 2, key.length * 2 + json.length)
}

export function makeNotes(begun: ByFetch<Begun> = []): Notes {
  return { calls: [], kept: [], begun, allKept: true }
}

/** A fetch of an ordinary run. */
export function callNoted(index: number, wire: Wire, variables: FetchVariables, context: object, notes: Notes): Promise<FetchResult> {
  const call = wire.callOf(variables)
  const begun = notes.begun[index]
  const reading = begun?.call === call ? begun.reading : wire.send(call, context)
  return reading.then((read) => {
    notes.calls[index] = call
    notes.kept[index] = read.kept
    if (read.kept === undefined) notes.allKept = false
    return ownResult(read)
  })
}

/** A fetch of a replay. */
export function callAgain(index: number, wire: Wire, context: object, replay: Replay): void | Promise<void> {
  const call = replay.recording.calls[index]
  if (call === undefined || replay.diverged) return
  let reading: Promise<Read>
  try {
    reading = wire.send(call, context)
  } catch {
    // The run that starts over will see it too.
    return diverge(replay, 'failed')
  }
  replay.begun[index] = { call, reading }
  return reading.then(
    (read) => {
      if (read.kept === undefined || read.kept !== replay.recording.kept[index]) diverge(replay, 'differs')
    },
    () => diverge(replay, 'failed'),
  )
}

function diverge(replay: Replay, outcome: 'differs' | 'failed'): void {
  if (replay.diverged) return
  replay.diverged = true
  replay.end(outcome)
}

/** Runs a plan along a recording. Does not wait for the rest when something differs. */
export function replayed(
  recording: Recording,
  run: (replay: Replay) => void | Promise<void>,
): Promise<{ outcome: 'same' | 'differs' | 'failed'; begun: ByFetch<Begun> }> {
  return new Promise((resolve, reject) => {
    const begun: (Begun | undefined)[] = []
    const end = (outcome: 'same' | 'differs' | 'failed'): void => resolve({ outcome, begun })
    const pending = run({ recording, begun, diverged: false, end })
    // When it diverged this says nothing new, and is not heard.
    if (pending === undefined) end('same')
    else pending.then(() => end('same'), reject)
  })
}
