/**
 * The current operations of the manifests. They are planned and compiled at start, and the start fails if one of them is wrong. When
 * files change, the set is replaced as a whole, between two requests. A broken manifest changes nothing: its last valid state stays. An
 * operation that does not fit the schema, because its release came before its schema, is answered with its errors; the other operations
 * of its manifest work.
 *
 * When the engine is replaced, `prepareWith` prepares everything on the new engine before it is used, and `commit` takes the result
 * over.
 */
import { dirname, resolve } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import { TidemarkError } from '../../core/errors.ts'
import type { Log } from '../request/error-format.ts'
import type { Manifest, ManifestOperation } from './manifest.ts'
import { manifestMistakes, readManifestFiles, type ManifestFiles } from './manifest-files.ts'
import { makeManifestWatch } from './manifest-watch.ts'
import type { PersistedMetrics } from './metrics.ts'
import {
  failuresOf,
  makePinnedSet,
  mergeOperations,
  pinText,
  type OperationFailure,
  type PinnedText,
  type PinnedSet,
  type PinningEngine,
} from './pinned-operations.ts'

export type LiveSet = {
  set(): PinnedSet
  /**
   * Prepares everything on an engine that is not in use yet. `failures` are the operations that do not fit it. Call `commit` when it is
   * in use.
   */
  prepareWith(engine: PinningEngine): Promise<{ readonly failures: readonly OperationFailure[]; commit(): void }>
  /** Takes over the changes in the files now. Resolves to false if some could not be taken over. */
  reload(): Promise<boolean>
  close(): Promise<void>
}

export type LiveSetOptions = Pick<Config['persisted'], 'manifests' | 'watchEveryMs'> & { readonly tokensMax: number }

/** `engine` is always the engine in use. Throws CONFIG_INVALID with one sentence per mistake of the manifests. */
export function makeLiveSet(engine: PinningEngine, options: LiveSetOptions, log: Log, metrics: PersistedMetrics, clock: Clock): LiveSet {
  const { manifests: paths, tokensMax, watchEveryMs } = options
  const watch = makeManifestWatch(paths, watchEveryMs, clock, reload)
  let manifests = readAtStart()
  let pinned: ReadonlyMap<string, PinnedText> = new Map()
  let set = pinAtStart()
  let broken = 0
  /** Counts engines. Operations that were prepared on one engine must not be used after the next has replaced it. */
  let engines = 0
  let reloading: Promise<boolean> = Promise.resolve(true)
  watch.start()

  function readAtStart(): ReadonlyMap<string, Manifest> {
    const files = readManifestFiles(paths, tokensMax)
    refuseAtStart(manifestMistakes(files))
    return files.manifests
  }

  function pinAtStart(): PinnedSet {
    const { operations, mistakes } = mergeOperations(manifests.values())
    refuseAtStart(mistakes)
    const prepared = new Map<string, PinnedText>()
    for (const operation of operations) if (!prepared.has(operation.body)) prepared.set(operation.body, pinText(engine, operation))
    refuseAtStart(failuresAmong(operations, prepared).map(failureSentence))
    pinned = prepared
    metrics.set({ operations: operations.length, failing: 0, broken: 0 })
    return makePinnedSet(operations, prepared)
  }

  function reload(): Promise<boolean> {
    reloading = reloading.then(takeOver).catch((error: unknown) => {
      log.error({ err: error }, 'the manifests could not be reloaded: the old ones are kept')
      return false
    })
    return reloading
  }

  async function takeOver(): Promise<boolean> {
    watch.markSeen()
    const files = readManifestFiles(paths, tokensMax)
    const next = withOld(files, manifests)
    const { operations, mistakes } = mergeOperations(next.values())
    const sentences = [...manifestMistakes(files), ...mistakes]
    for (const sentence of sentences) log.warn({}, `${sentence} (the previous state is kept)`)
    broken = files.missing.length + [...files.manifests.values()].filter((manifest) => manifest.mistakes.length > 0).length
    if (mistakes.length > 0) {
      broken++
      use(set.operations, pinned)
    } else {
      await replaceBy(operations)
      manifests = next
    }
    metrics.reloaded(sentences.length > 0 ? 'broken' : 'ok')
    return sentences.length === 0
  }

  async function replaceBy(operations: readonly ManifestOperation[]): Promise<void> {
    let begun: number
    let prepared: Map<string, PinnedText>
    do {
      begun = engines
      prepared = await prepareAll(engine, operations, pinned)
    } while (begun !== engines)
    use(operations, prepared)
  }

  function use(operations: readonly ManifestOperation[], prepared: ReadonlyMap<string, PinnedText>): void {
    pinned = prepared
    set = makePinnedSet(operations, prepared)
    const failures = failuresAmong(operations, prepared)
    for (const failure of failures) log.warn({}, `${failureSentence(failure)} (callers get this error)`)
    metrics.set({ operations: operations.length, failing: failures.length, broken })
  }

  return {
    set: () => set,
    reload,
    async prepareWith(next) {
      const prepared = await prepareAll(next, set.operations, new Map())
      return {
        failures: failuresAmong(set.operations, prepared),
        commit() {
          engines++
          // Manifests may have changed meanwhile. New operations are prepared now.
          for (const operation of set.operations) if (!prepared.has(operation.body)) prepared.set(operation.body, pinText(next, operation))
          use(set.operations, prepared)
        },
      }
    },
    async close() {
      watch.close()
      await reloading
    },
  }
}

/**
 * Prepares one operation after another. It yields to the event loop in between, so that requests are answered. Operations in `known`
 * are reused.
 */
async function prepareAll(
  engine: PinningEngine,
  operations: readonly ManifestOperation[],
  known: ReadonlyMap<string, PinnedText>,
): Promise<Map<string, PinnedText>> {
  const prepared = new Map<string, PinnedText>()
  for (const operation of operations) {
    if (prepared.has(operation.body)) continue
    const before = known.get(operation.body)
    if (before === undefined) await setImmediate()
    prepared.set(operation.body, before ?? pinText(engine, operation))
  }
  return prepared
}

/** The manifests that were read. A broken file, and a file below a missing path, keeps its old state. */
function withOld({ manifests, missing }: ManifestFiles, old: ReadonlyMap<string, Manifest>): Map<string, Manifest> {
  const next = new Map<string, Manifest>()
  for (const [file, manifest] of manifests) {
    const kept = manifest.mistakes.length === 0 ? manifest : old.get(file)
    if (kept !== undefined) next.set(file, kept)
  }
  for (const [file, manifest] of old)
    if (missing.some((path) => file === path || resolve(dirname(file)) === resolve(path))) next.set(file, manifest)
  return next
}

function failuresAmong(operations: readonly ManifestOperation[], pinned: ReadonlyMap<string, PinnedText>): OperationFailure[] {
  return operations.flatMap((operation) => {
    const entry = pinned.get(operation.body)
    return entry === undefined ? [] : failuresOf(operation, entry)
  })
}

export function failureSentence({ operation, message }: OperationFailure): string {
  const { file, id, names } = operation
  return `${file}: ${names[0] ?? 'the operation'} (id ${id}) does not fit the schema: ${message}`
}

function refuseAtStart(mistakes: readonly string[]): void {
  if (mistakes.length > 0) throw new TidemarkError('CONFIG_INVALID', mistakes.join('\n'))
}
