/** Follows and filter words that devices change and read. */
import type { Degraded } from '../../../core/outage/degraded.ts'
import type { Random } from '../../../core/random.ts'
import type { Scheduler } from '../scheduler.ts'
import type { FeedChecker } from './checker.ts'
import type { Client, FeedInputs } from './client.ts'
import type { FeedClientOptions } from './draws.ts'
import type { FeedProcess } from './process.ts'
import { without } from './scrolling.ts'

export function makeFollowing(
  random: Random,
  scheduler: Scheduler,
  checker: FeedChecker,
  { others, someWords }: FeedInputs,
  { viewers }: FeedClientOptions,
) {
  const { truths, fail } = checker

  async function setWords(client: Client, process: FeedProcess): Promise<string> {
    const words = someWords(2)
    await process.service.setWords(client.viewer, words)
    return words.join(', ') || 'none'
  }

  async function follow(client: Client, process: FeedProcess, follows: boolean): Promise<string> {
    const viewer = client.viewer.id
    const ids = others(3)
    const beganAt = scheduler.now()
    const degraded: Degraded = new Set()
    const answers = await process.changeFollows(viewer, ids, follows, degraded)
    ids.forEach((id, at) => {
      const answer = answers[at]
      if (answer?.outcome === 'REJECTED' && (id !== viewer || !follows) && !checker.mayLack(answer.code, beganAt))
        fail(`lists: ${follows ? 'a follow' : 'an unfollow'} of ${id} was answered ${answer.code}`, viewer)
    })
    return (
      answers.map((answer) => (answer.outcome === 'REJECTED' ? answer.code : `${answer.outcome} ${answer.id}`)).join(', ') +
      without(degraded)
    )
  }

  async function readFollows({ viewer: { id } }: Client, process: FeedProcess): Promise<string> {
    const [since, beganAt] = [truths.tick(), scheduler.now()]
    const degraded: Degraded = new Set()
    const isWhole = random() < 0.5
    const following = isWhole ? await process.lists.following(id, degraded) : undefined
    const answers = isWhole ? viewers.map((user) => following?.includes(user) ?? null) : await process.lists.follows(id, viewers, degraded)
    checker.checkDegraded(degraded, beganAt, 'a list of follows', id)
    if (degraded.size === 0) viewers.forEach((user, at) => checker.checkFollowed(id, user, answers[at] === true, since))
    return viewers.filter((_, at) => answers[at] === true).join(', ') + without(degraded)
  }

  return { setWords, follow, readFollows }
}
