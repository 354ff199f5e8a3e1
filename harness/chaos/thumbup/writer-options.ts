/** The options of the writers of marks, and the parts that writing and reading lanes share. */
import { randomBelow } from '../../../core/random.ts'
import type { Call } from '../calls.ts'
import type { Lane } from '../lane.ts'

export type MarkWriterOptions = {
  seed: number
  /** Concurrent calls. */
  lanes: number
  viewers: number
  subjects: number
  /** Milliseconds between two calls of a lane, at most. */
  pauseMaxMs: number
  /** The lanes only read, so other lanes may write for the same viewers. Default false. */
  readsOnly?: boolean
  /** Called after every call. */
  onCall(call: Call): void
  /** Reports a wrong answer as a sentence. */
  onWrong(sentence: string): void
}

export const BUSINESS = 'video'
/** Subjects of the crowds. */
export const HOT_SUBJECTS = ['hot-1', 'hot-2']
/** A registration is not journaled: it may fail while the record store is down, and is sent again. */
export const REGISTER = 'register'

/** Each lane has its own viewers, so that the marks of one viewer are sent in turn. */
export function pickViewer({ number, random }: Lane, { lanes, viewers }: MarkWriterOptions): string {
  return String(1 + number + lanes * randomBelow(random, Math.ceil(viewers / lanes)))
}
