/**
 * Compares a recorded history with the model. Each violation is a sentence that begins with the name of its rule:
 *
 *   invented   a shown post was published, with these contents
 *   audience   a restricted post is shown to its audience and its author alone, whatever is down
 *   deleted    a reader that begins after a deletion does not see the post
 *   followed   a home feed has posts of followed users and of the viewer's inbox alone
 *   missing    a page has every post that was acknowledged before the read, between its cursor and its end
 *   scroll     a walk has posts in order, and its cursors continue where its pages end
 *   healthy    an answer names only stores that were out of order
 *   key        a client key has one post, and a valid publication is accepted
 *   lists      a viewer sees their own acknowledged follows at once
 *   counts     an event counts once, and is seen at once
 *   end        after quiet, shown figures and the rows of the record store equal the model
 */
import { makeFacts } from './facts.ts'
import type { FeedHistory } from './history.ts'
import { checkReads } from './read-rules.ts'
import { checkEnd, checkWrites } from './write-rules.ts'

export function violationsOf(history: FeedHistory): string[] {
  const violations: string[] = []
  const fail = (sentence: string): void => void violations.push(sentence)
  const facts = makeFacts(history)
  checkWrites(history, facts, fail)
  checkReads(history, facts, fail)
  if (history.end !== undefined) checkEnd(history.end, facts, fail)
  return violations
}
