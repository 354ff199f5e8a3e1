/** What writers of plays are told, and what both playing and asking lanes need. */
import type { Call } from '../calls.ts'

export type SeenWriterOptions = {
  seed: number
  /** Calls under way at once. */
  lanes: number
  viewers: number
  slots: number
  /** Milliseconds between two calls of a lane, at most. */
  pauseMaxMs: number
  onCall(call: Call): void
  /** A sentence: what was answered is wrong. */
  onWrong(sentence: string): void
}

/** Ids that were issued, by viewer. */
export type Issued = Map<string, string[]>
/** Ids that nobody ever played: how many were asked for, and how many were hidden all the same. */
export type Strangers = { strange: number; strangeHidden: number }

export const BUSINESS = 'video'
export const NUMBER = 1
export const UNSEEN = `query ($ids: [ID!]!) { unseen(business: "${BUSINESS}", candidates: $ids) { ids droppedIssued droppedStaged droppedFiltered } }`
export const SEEN = `query ($ids: [ID!]!) { seen(business: "${BUSINESS}", ids: $ids) { id reason } }`
