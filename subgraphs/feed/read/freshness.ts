/**
 * Freshness: how new a cached value must be. Each change of the feed is noted in its region, in the hot store, under the key of the value
 * that it makes old. Before a page uses cached values, this process reads the changes since its last question. A value with a lower version
 * than the noted one is stale, in whichever pool it is. So pools may be late, lost or wrong.
 *
 *   1. A page begins. It joins the next question, or begins one if none is under way. It never uses a question that began before itself:
 *      that one may have missed a change which was acknowledged before the page began. Reads of one request share a question: any that
 *      began after the request (`moment`) will do.
 *   2. The question asks all regions for the changes above the tick of their last answer, in one round trip.
 *   3. The changed keys are noted. The page's values must have at least the noted versions.
 *
 * A note is kept for longer than a cached value lives (`rememberMs`). A new process therefore asks for the changes of that time only. If the
 * hot store has already forgotten a part of it (`isPartial`), or came back empty, all values of the region that were loaded before are suspect: the region
 * itself gets a note, and a value must have at least its version. The same happens if there are too many notes. A value that is loaded
 * under a note is stamped with the noted version at least (`sections.ts`), so a suspect value is loaded once.
 *
 * A home feed merges many values. Some are cached from before the question, and some are loaded after it. A post that is published after the
 * question would be shown above an older one that is not in the page yet. The page therefore leaves out posts from after the question
 * (`reached`). A region's clock never goes back, so these are the posts above the tick of the region's answer.
 *
 * While the hot store or a part of it is down, the noted versions still hold, and its later changes are not known: the answer is degraded.
 */
import type { Clock } from '../../../core/clock.ts'
import { saysDown, type Degraded } from '../../../core/outage/degraded.ts'
import { PartOutage } from '../../../core/outage/part-outage.ts'
import { regionOf } from '../../../core/regions.ts'
import { makeWorker } from '../../../core/worker.ts'
import { outboxKey, headKey, contentKey } from '../model/cache-keys.ts'
import { POST_EPOCH_MS, TICKS_PER_MS, regionOfPost } from '../packed/post-id.ts'
import type { FeedHotStore, RegionChanges } from '../stores/hot-store.ts'
import { makeNotes } from './notes.ts'
import { CLOCK_DIFFERENCE_MS } from './overlay.ts'

export type FreshnessOptions = {
  /** Milliseconds for which changes are noted: at least as long as any pool may have a value (`rememberMsOf` in config/feed.ts). */
  rememberMs: number
  /** Keys of one generation of notes (`notes.ts`). Minimum 1. Default 500000: with short keys about 50 MB. */
  notesMax?: number
  /** Milliseconds between two questions while somebody follows. Default 1000. */
  lookEveryMs?: number
}

/** The number of questions that have begun. */
export type Moment = number

/** The lowest acceptable version of a cached value; 0 if no change is known. */
export type VersionFloor = (key: string) => number

/** True if the change of a key with this version is included. */
export type Reached = (key: string, version: number) => boolean

export type ChangesListener = (answers: readonly RegionChanges[]) => void

export type Freshness = {
  /**
   * Resolves with a function that knows all changes from before a moment, by default that of the call, unless `degraded` names the hot
   * store.
   */
  look(degraded: Degraded, asOf?: Moment): Promise<VersionFloor>
  /** The changes that the last answer of the hot store includes. A public post is a change of its key with the tick of its id. */
  reached(): Reached
  /** The present moment. */
  moment(): Moment
  /** What is known now, without a question. */
  floorOf: VersionFloor
  /** Calls the listener with all changes from now on, at most about `lookEveryMs` late. Returns the function that ends it. */
  follow(listener: ChangesListener): () => void
  figures(): { questions: number; notes: number; followers: number }
  /** Ends the questions for followers. */
  stop(): Promise<void>
}

const HEAD = headKey('')
const OUTBOX = outboxKey('')
const CONTENT = contentKey('')

export function makeFreshness(
  hot: Pick<FeedHotStore, 'listChanges'>,
  regions: number,
  clock: Clock,
  { rememberMs, notesMax = 500_000, lookEveryMs = 1_000 }: FreshnessOptions,
  onError: (error: unknown) => void,
): Freshness {
  const answered = new Map<number, number>(Array.from({ length: regions }, (_, region) => [region, 0]))
  const listeners = new Set<ChangesListener>()
  const suspects = makeNotes(clock, { keepMs: rememberMs, keysMax: Infinity }, () => undefined)
  const notes = makeNotes(clock, { keepMs: rememberMs, keysMax: notesMax }, (key, version) =>
    suspects.note(String(regionOfKey(key, regions)), version),
  )
  const worker = makeWorker(
    clock,
    () => ask(questions),
    () => (listeners.size > 0 ? lookEveryMs : undefined),
    onError,
  )
  let questions = 0

  /** Resolves with true if a part of the store is down. */
  async function question(number: number): Promise<boolean> {
    const now = clock.now()
    const horizon = tickBefore(now, rememberMs)
    for (const [region, tick] of answered) if (tick < horizon) answered.set(region, horizon)
    const { answers, isLacking } = await listWithOutages(hot, answered)
    for (const { region, changed, version, isPartial } of answers) {
      for (const each of changed) notes.note(each.key, each.version)
      if (isPartial) suspects.note(String(region), version)
      answered.set(region, Math.max(version, answered.get(region) ?? 0))
    }
    reached = { ticks: new Map(answered), atLeast: tickBefore(now, CLOCK_DIFFERENCE_MS) }
    if (answers.length > 0) for (const listener of listeners) listener(answers)
    last = { number, isLacking }
    return isLacking
  }

  let last = { number: 0, isLacking: false }
  /** No post gets an id below `atLeast` after the question. A region without changes may have lost them, but not its posts. */
  let reached = { ticks: new Map<number, number>(), atLeast: 0 }
  let current: Promise<boolean> | undefined
  let next: Promise<boolean> | undefined

  /** The answer of a question that began after this moment: the last one, the one under way, or the one that begins next. */
  async function ask(asOf: Moment): Promise<boolean> {
    if (last.number > asOf) return last.isLacking
    if (current === undefined) return begin()
    if (questions > asOf) return current
    next ??= current.then(begin, begin)
    return next
  }

  function begin(): Promise<boolean> {
    next = undefined
    const own = question(++questions).finally(() => {
      if (current === own) current = undefined
    })
    current = own
    return own
  }

  function floorOf(key: string): number {
    const noted = key.startsWith(OUTBOX) ? HEAD + key.slice(OUTBOX.length) : key
    const version = notes.versionOf(noted)
    return suspects.size() === 0 ? version : Math.max(version, suspects.versionOf(String(regionOfKey(key, regions))))
  }

  return {
    async look(degraded, asOf = questions) {
      if (await ask(asOf)) degraded.add('hotStore')
      return floorOf
    },
    reached() {
      const { ticks, atLeast } = reached
      return (key, version) => version <= Math.max(ticks.get(regionOfKey(key, regions)) ?? 0, atLeast)
    },
    moment: () => questions,
    floorOf,
    follow(listener) {
      listeners.add(listener)
      worker.plan(lookEveryMs)
      return () => void listeners.delete(listener)
    },
    figures: () => ({ questions, notes: notes.size(), followers: listeners.size }),
    stop: () => worker.stop(),
  }
}

/** The tick of a region's clock that is this old. */
function tickBefore(now: number, ageMs: number): number {
  return Math.max(0, (now - ageMs - POST_EPOCH_MS) * TICKS_PER_MS)
}

/** The changes of all regions that answer. */
async function listWithOutages(
  hot: Pick<FeedHotStore, 'listChanges'>,
  since: ReadonlyMap<number, number>,
): Promise<{ answers: readonly RegionChanges[]; isLacking: boolean }> {
  try {
    return { answers: await hot.listChanges(since), isLacking: false }
  } catch (error) {
    if (!saysDown(error, 'hotStore')) throw error
    // A viewer whose id is the number of a region belongs to that region.
    const isUp = (region: number): boolean => error instanceof PartOutage && !error.concerns(String(region))
    const others = new Map([...since].filter(([region]) => isUp(region)))
    if (others.size === 0 || others.size === since.size) return { answers: [], isLacking: true }
    return { answers: (await listWithOutages(hot, others)).answers, isLacking: true }
  }
}

/** The region whose hot store notes the changes of a key. */
function regionOfKey(key: string, regions: number): number {
  return key.startsWith(CONTENT) ? regionOfPost(key.slice(1)) : regionOf(key.slice(1), regions)
}
