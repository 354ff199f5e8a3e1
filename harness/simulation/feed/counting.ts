/** Counter events that services send, also again, and counts that viewers read. */
import type { ViewerId } from '../../../core/domain.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import { randomBelow, type Random } from '../../../core/random.ts'
import type { CountEventInput } from '../../../subgraphs/feed/inputs.ts'
import type { PostId } from '../../../subgraphs/feed/packed/post-id.ts'
import { makeDice } from '../dice.ts'
import type { Scheduler } from '../scheduler.ts'
import type { FeedChecker } from './checker.ts'
import type { Client, FeedInputs } from './client.ts'
import type { FeedClientOptions } from './draws.ts'
import type { FeedProcess } from './process.ts'
import { without } from './scrolling.ts'

export function makeCounting(
  random: Random,
  scheduler: Scheduler,
  checker: FeedChecker,
  { knownPost, event }: FeedInputs,
  { viewers }: FeedClientOptions,
) {
  const { truths, fail } = checker
  const { pick } = makeDice(random)
  const events = makeSentEvents()

  async function count(client: Client, process: FeedProcess, inputs: readonly CountEventInput[]): Promise<string> {
    events.sent(inputs)
    const [since, beganAt] = [truths.tick(), scheduler.now()]
    const degraded: Degraded = new Set()
    const answers = await process.service.adjustCounts(client.viewer, inputs, degraded)
    answers.forEach((answer, at) => {
      const { key, id } = inputs[at] as CountEventInput
      if (answer.outcome !== 'REJECTED') {
        if (events.answered(key, answer.outcome === 'COUNTED')) fail(`counts: event ${key} was counted again`, client.viewer.id)
        return
      }
      const fact = truths.posts.get(id)
      const isGone = answer.code === 'POST_UNKNOWN' && (fact?.deletedAt !== undefined || fact === undefined || fact.landedAt > since)
      if (!isGone && !checker.mayLack(answer.code, beganAt))
        fail(`counts: event ${key} of ${id} was answered ${answer.code}`, client.viewer.id)
    })
    return answers.map(({ outcome }, at) => `${inputs[at]?.key} ${outcome}`).join(', ') + without(degraded)
  }

  function newEvents(): CountEventInput[] {
    const ids = Array.from({ length: 1 + randomBelow(random, 3) }, () => knownPost()).filter((id) => id !== undefined)
    return ids.map(event)
  }

  function oldEvents(): CountEventInput[] {
    const all = events.all()
    if (all.length === 0) return newEvents()
    return Array.from({ length: 1 + randomBelow(random, 2) }, () => pick(all))
  }

  async function readCounts({ viewer }: Client, process: FeedProcess): Promise<string> {
    const id = knownPost(({ deletedAt }) => deletedAt === undefined)
    if (id === undefined) return 'nothing'
    const least = events.commentsOf(id, true)
    const beganAt = scheduler.now()
    const degraded: Degraded = new Set()
    const { comment } = await process.postCounts(id, degraded)
    checker.checkDegraded(degraded, beganAt, 'a count', viewer.id)
    if (comment === undefined && degraded.size === 0) fail(`counts: post ${id} has no counts, and no store is named`, viewer.id)
    if (comment !== undefined && degraded.size === 0 && (comment < least || comment > events.commentsOf(id, false)))
      fail(`counts: post ${id} has ${comment} comments, not ${least} to ${events.commentsOf(id, false)}`, viewer.id)
    return `${id}: ${comment} comments${without(degraded)}`
  }

  /** The public posts of an author, or the public shares of a post, that are not deleted. */
  function countPosts(isCounted: (author: ViewerId, source: PostId | undefined) => boolean): number {
    return [...truths.posts.values()].filter(
      ({ post, deletedAt }) => deletedAt === undefined && post.audience === undefined && isCounted(post.author, post.source),
    ).length
  }

  /** After quiet: a service sends its events until they are acknowledged, and all counts equal their events. */
  async function checkAll(client: Client, process: FeedProcess): Promise<void> {
    for (const input of events.open()) await count(client, process, [input])
    const degraded: Degraded = new Set()
    for (const viewer of viewers) await checkUser(viewer, process, degraded)
    for (const { post, deletedAt } of truths.posts.values()) {
      if (deletedAt !== undefined) continue
      const { repost, comment } = await process.postCounts(post.id, degraded)
      const reposts = countPosts((_, source) => source === post.id)
      if (repost !== reposts) fail(`counts: post ${post.id} has ${repost} shares, not ${reposts}`, post.author)
      const comments = events.commentsOf(post.id, false)
      if (comment !== comments) fail(`counts: post ${post.id} has ${comment} comments, not ${comments}`, post.author)
    }
    if (degraded.size > 0) fail(`healthy: after quiet counts are still read${without(degraded)}`, undefined)
  }

  async function checkUser(user: ViewerId, process: FeedProcess, degraded: Degraded): Promise<void> {
    const { post } = await process.userCounts(user, degraded)
    const posts = countPosts((author) => author === user)
    if (post !== posts) fail(`counts: ${user} has ${post} posts, not ${posts}`, user)
    const [shown] = await process.follows.followerCounts([user], undefined, degraded)
    const followers = viewers.filter((each) => truths.followedSince(each, user, truths.tick()).includes(true)).length
    if (shown !== followers) fail(`counts: ${user} has ${shown} followers, not ${followers}`, user)
  }

  return { count, newEvents, oldEvents, readCounts, checkAll }
}

/** Events that were ever sent, by their keys. `isCounted`: an answer said that its call counted the event. */
function makeSentEvents() {
  const events = new Map<string, { input: CountEventInput; isAcked: boolean; isCounted: boolean }>()
  return {
    all: (): CountEventInput[] => Array.from(events.values(), ({ input }) => input),
    /** Those without an acknowledgement. */
    open: (): CountEventInput[] => [...events.values()].filter(({ isAcked }) => !isAcked).map(({ input }) => input),
    sent(inputs: readonly CountEventInput[]): void {
      for (const input of inputs) if (!events.has(input.key)) events.set(input.key, { input, isAcked: false, isCounted: false })
    },
    /** True if an earlier call counted it too. */
    answered(key: string, isCounted: boolean): boolean {
      const event = events.get(key)
      if (event === undefined) return false
      const isAgain = isCounted && event.isCounted
      event.isAcked = true
      event.isCounted ||= isCounted
      return isAgain
    },
    /** Of acknowledged events only, or of all. */
    commentsOf(id: PostId, ackedOnly: boolean): number {
      let sum = 0
      for (const { input, isAcked } of events.values())
        if (input.id === id && input.counter === 'COMMENT' && (isAcked || !ackedOnly)) sum += input.delta
      return sum
    },
  }
}
