/**
 * Replays an answer if none of its parts has changed. If all fetches of a query go to remote subgraphs, its answer depends only on its
 * variables and on the bytes of the subgraphs. A recording has the calls of a run, the cached answers (transports/answer-cache.ts) and
 * the bytes of the result. The next run with these variables makes the same calls in the same order, each for the current viewer. If
 * every answer equals the recorded bytes, the client gets the recorded result. Nothing is parsed, copied, merged, projected or
 * serialized.
 *
 * The order of events if one answer differs:
 *   1. the run sends the calls of the recording, each after the recorded answers that it depends on;
 *   2. an answer differs, or a call fails: the run sends no more calls;
 *   3. the run starts over without the recording. It reuses answers that have come or are under way. No call is made twice.
 *
 * Only answers without errors are recorded. Each set of grants has its own operation and its own recordings. Mutations and
 * subscriptions have no recordings. Operations that ask a subgraph of this process have none either, because its data may change each
 * time. A recording that differs is dropped at once. Others are evicted when the memory needs room.
 */
import type { ClientMemory, Holding } from '../memory/client-memory.ts'
import { NOTHING_HELD } from '../memory/family.ts'
import { ownResult } from '../transports/answer-cache.ts'
import type { FetchResult, FetchVariables, Wire, AnswerIdentity, Read } from '../transports/transport.ts'

/** By the index of the fetch in its plan. Undefined for a fetch that sends nothing. */
type ByFetch<Value> = readonly (Value | undefined)[]

export type Recording = {
  readonly calls: ByFetch<string>
  readonly kept: ByFetch<AnswerIdentity>
  readonly json: Buffer
}

/** A call that was sent, and its answer. */
type Begun = { readonly call: string; readonly reading: Promise<Read> }

/** A run along a recording. */
export type AnswerReplay = {
  readonly recording: Recording
  readonly begun: (Begun | undefined)[]
  diverged: boolean
  /** Called once, with the outcome. */
  end(outcome: 'same' | 'differs' | 'failed'): void
}

/** An ordinary run notes its calls here, so that it may become a recording. */
export type Notes = {
  readonly calls: (string | undefined)[]
  readonly kept: (AnswerIdentity | undefined)[]
  /** The calls that a replay made before it diverged. */
  readonly begun: ByFetch<Begun>
  allKept: boolean
}

export type AnswerRecordings = {
  get(key: string): Recording | undefined
  /** Keeps the bytes of the answer, if they and the calls are short enough. */
  set(key: string, notes: Notes, json: Buffer): void
  forget(key: string): void
  clear(): void
  /** An estimate in bytes. */
  weight(): number
}

/** A longer recording is not kept. */
const RECORDING_WEIGHT_MAX = 1_048_576
/** Milliseconds to make an answer without its recording. It is about the same for any answer. */
const RECORDING_COST_MS = 1

export function makeAnswerRecordings(memory: ClientMemory): AnswerRecordings {
  const recordings = new Map<string, { recording: Recording; bytes: number; holding: Holding }>()
  let weight = 0
  function forget(key: string): void {
    const kept = recordings.get(key)
    if (kept === undefined) return
    kept.holding.release()
    weight -= kept.bytes
    recordings.delete(key)
  }
  return {
    get(key) {
      const kept = recordings.get(key)
      kept?.holding.touch()
      return kept?.recording
    },
    set(key, { calls, kept }, json) {
      const recording = { calls, kept, json }
      const bytes = weightOf(key, recording)
      if (bytes > RECORDING_WEIGHT_MAX) return
      forget(key)
      const entry = { recording, bytes, holding: NOTHING_HELD }
      recordings.set(key, entry)
      weight += bytes
      entry.holding = memory.hold('answer', bytes, RECORDING_COST_MS, () => forget(key))
    },
    forget,
    clear() {
      for (const key of recordings.keys()) forget(key)
    },
    weight: () => weight,
  }
}

/** A character counts as two bytes. */
function weightOf(key: string, { calls, json }: Recording): number {
  return calls.reduce((sum, call) => sum + (call?.length ?? 0) * 2, key.length * 2 + json.length)
}

export function makeNotes(begun: ByFetch<Begun> = []): Notes {
  return { calls: [], kept: [], begun, allKept: true }
}

/** A fetch of an ordinary run. */
export function recordCall(index: number, wire: Wire, variables: FetchVariables, context: object, notes: Notes): Promise<FetchResult> {
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
export function repeatCall(index: number, wire: Wire, context: object, replay: AnswerReplay): void | Promise<void> {
  const call = replay.recording.calls[index]
  if (call === undefined || replay.diverged) return
  let reading: Promise<Read>
  try {
    reading = wire.send(call, context)
  } catch {
    // The run that starts over gets the same error.
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

function diverge(replay: AnswerReplay, outcome: 'differs' | 'failed'): void {
  if (replay.diverged) return
  replay.diverged = true
  replay.end(outcome)
}

/** Runs a plan along a recording. After a difference it does not wait for the other calls. */
export function runReplay(
  recording: Recording,
  run: (replay: AnswerReplay) => void | Promise<void>,
): Promise<{ outcome: 'same' | 'differs' | 'failed'; begun: ByFetch<Begun> }> {
  return new Promise((resolve, reject) => {
    const begun: (Begun | undefined)[] = []
    const end = (outcome: 'same' | 'differs' | 'failed'): void => resolve({ outcome, begun })
    const pending = run({ recording, begun, diverged: false, end })
    // After a divergence these calls change nothing: the promise has settled.
    if (pending === undefined) end('same')
    else pending.then(() => end('same'), reject)
  })
}
