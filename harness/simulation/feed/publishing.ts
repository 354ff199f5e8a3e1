/** Posts that devices publish, send again and delete. */
import { isTidemarkError, type ErrorCode } from '../../../core/errors.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import type { Random } from '../../../core/random.ts'
import { makeDice } from '../dice.ts'
import type { Scheduler } from '../scheduler.ts'
import type { FeedChecker } from './checker.ts'
import type { Client, FeedInputs, SentPost } from './client.ts'
import type { FeedClientOptions } from './draws.ts'
import type { FeedProcess } from './process.ts'
import { without } from './scrolling.ts'

const SENT_MAX = 4

export function makePublishing(
  random: Random,
  scheduler: Scheduler,
  checker: FeedChecker,
  { knownPost, post }: FeedInputs,
  { againMs }: FeedClientOptions,
) {
  const { truths, fail } = checker
  const { pick } = makeDice(random)

  async function publish(client: Client, process: FeedProcess, input: SentPost): Promise<string> {
    client.sent = [...client.sent.filter((each) => each !== input), input].slice(-SENT_MAX)
    const { id } = client.viewer
    const { source } = input
    const { sentAt: _, ...sent } = input
    const since = truths.tick()
    const isKnown = truths.idsOfKeys.has(truths.keyText({ author: id, clientKey: input.clientKey }))
    const degraded: Degraded = new Set()
    const outcome = await process.service.publish(client.viewer, sent, degraded).catch((error: unknown) => {
      // A repetition has its post, whatever has become of the source.
      const isSourceGone = !isKnown && ['POST_UNKNOWN', 'SOURCE_RESTRICTED'].includes(codeOf(error) ?? '') && !mayShare(source, id, since)
      if (!isSourceGone) throw error
      return undefined
    })
    if (outcome === undefined) return `the source ${source} cannot be shared${without(degraded)}`
    checker.checkPublished(id, sent.clientKey, outcome.post)
    return `post ${outcome.post.id}${outcome.repeated ? ', repeated' : ''}${without(degraded)}`
  }

  /** True if the viewer could share the post from `since` until now. */
  function mayShare(source: string | null | undefined, viewer: string, since: number): boolean {
    const fact = source === undefined || source === null ? undefined : truths.posts.get(source)
    return fact !== undefined && fact.deletedAt === undefined && truths.mayShow(fact, viewer, since) && fact.post.audience === undefined
  }

  /** The same input, or the same key with other contents. */
  async function publishAgain(client: Client, process: FeedProcess): Promise<string> {
    const fresh = client.sent.filter(({ sentAt }) => sentAt > scheduler.now() - againMs)
    if (fresh.length === 0) return publish(client, process, post(scheduler.now()))
    const again = pick(fresh)
    if (random() < 0.85) return publish(client, process, again)
    const known = truths.idsOfKeys.get(truths.keyText({ author: client.viewer.id, clientKey: again.clientKey }))
    if (known === undefined) return publish(client, process, again)
    const { clientKey } = again
    const answer = await process.service
      .publish(client.viewer, { clientKey, text: 'other', media: [] }, new Set())
      .catch((error: unknown) => {
        if (codeOf(error) === 'CLIENT_KEY_REUSED') return 'refused'
        throw error
      })
    if (answer !== 'refused') fail(`key: ${client.viewer.id}'s key ${clientKey} took other contents`, client.viewer.id)
    return `key ${clientKey} with other contents is refused`
  }

  async function remove(client: Client, process: FeedProcess): Promise<string> {
    const viewer = client.viewer.id
    const isOwn = random() < 0.9
    const id = knownPost(({ post: { author } }) => (author === viewer) === isOwn)
    if (id === undefined) return 'nothing'
    const beganAt = scheduler.now()
    const fact = truths.posts.get(id)
    const wasDeleted = fact?.deletedAt !== undefined
    const degraded: Degraded = new Set()
    const code = await process.service.delete(client.viewer, id, degraded).then(
      () => undefined,
      (error: unknown) => codeOf(error) ?? 'not an error of ours',
    )
    if (!isOwn && (code === 'FORBIDDEN' || code === 'POST_UNKNOWN')) return `${id} is of another author`
    // Tombstones are forgotten after a while.
    if (code === 'POST_UNKNOWN' && wasDeleted) return `${id} is deleted`
    if (code !== undefined && code !== 'not an error of ours' && checker.mayLack(code, beganAt)) return `${id} is refused: ${code}`
    if (code !== undefined || !isOwn) fail(`deleted: the deletion of ${id} by ${viewer} was answered ${code ?? 'with success'}`, viewer)
    if (fact !== undefined) fact.isDeletionAcked = true
    if (fact?.deletedAt === undefined) fail(`deleted: the deletion of ${id} was acknowledged, and did not happen`, viewer)
    return `${id} is deleted${without(degraded)}`
  }

  return { publish, publishAgain, remove, newPost: () => post(scheduler.now()) }
}

export function codeOf(error: unknown): ErrorCode | undefined {
  return isTidemarkError(error) ? error.code : undefined
}
