/** The options of the writers of plays, and the parts that playing and asking lanes share. */
import type { Call } from '../calls.ts'

export type SeenWriterOptions = {
  seed: number
  /** Concurrent calls. */
  lanes: number
  viewers: number
  slots: number
  /** Milliseconds between two calls of a lane, at most. */
  pauseMaxMs: number
  onCall(call: Call): void
  /** Reports a wrong answer as a sentence. */
  onWrong(sentence: string): void
}

/** Ids that were issued, by viewer. */
export type Issued = Map<string, string[]>
/** Ids without any play: how many were requested, and how many were hidden as false positives. */
export type Strangers = { strange: number; strangeHidden: number }

export const BUSINESS = 'video'
export const NUMBER = 1
export const UNSEEN = `query ($ids: [ID!]!) { unseen(business: "${BUSINESS}", candidates: $ids) { ids droppedIssued droppedStaged droppedFiltered } }`
export const SEEN = `query ($ids: [ID!]!) { subjects(business: "${BUSINESS}", ids: $ids) { id viewerSeen } }`
export type Seen = { subjects: { id: string; viewerSeen: string | null }[] }
