/**
 * Persisted operations: finds the prepared operation of a request by its id, its text, or both. POST, GET, event streams and WebSockets
 * all use this file, under the same rules:
 *
 *   off      texts only
 *   apq      any text; ids of manifests; ids that clients registered by sending id and text together
 *   report   the same; texts that no manifest has are recorded
 *   enforce  operations of manifests only, by id or by the exact text
 *
 *   lookup.ts            from a request to its operation; lookup-errors.ts has the errors
 *   request-id.ts        the places of an id in a request
 *   modes.ts             the mode of each client
 *   live-set.ts          the current operations of the manifests; manifest*.ts read them, pinned-operations.ts prepares them
 *   registered-texts.ts  automatic persisted queries
 *   recorder.ts          the record of report mode; report-writer.ts and report-file.ts write it to a file
 */
import type { Registry } from '@prometheus-io/client'
import type { Config } from '../../config/config.ts'
import type { Clock } from '../../core/clock.ts'
import { makeClientMemory, type ClientMemory } from '../memory/client-memory.ts'
import type { Engine } from '../operation/engine.ts'
import type { Log } from '../request/error-format.ts'
import { makeLiveSet, type LiveSet } from './live-set.ts'
import { makeLookup, type Lookup } from './lookup.ts'
import { makePersistedMetrics } from './metrics.ts'
import { makeModeOf } from './modes.ts'
import type { PinningEngine } from './pinned-operations.ts'
import { makeRecorder } from './recorder.ts'
import { makeRegisteredTexts } from './registered-texts.ts'

export type Persisted = {
  readonly lookup: Lookup
  /** Answers may depend on the name of the client. */
  readonly varyOnClient: boolean
  close(): Promise<void>
} & Pick<LiveSet, 'prepareWith' | 'reload'>

export type PersistedOptions = Config['persisted'] & {
  /** Tokens an operation may have. */
  readonly tokensMax: number
}

const WRITE_EVERY_MS = 5_000

/** Throws CONFIG_INVALID with one sentence per mistake of the manifests. */
export function makePersisted(
  engine: PinningEngine & Pick<Engine, 'prepareFor'>,
  options: PersistedOptions,
  log: Log,
  registry: Registry,
  clock: Clock,
  memory: ClientMemory = makeClientMemory(),
): Persisted {
  const { manifests: paths, tokensMax, watchEveryMs } = options
  const metrics = makePersistedMetrics(registry)
  const modeOf = makeModeOf(options)
  const registered = makeRegisteredTexts(memory)
  const recorder = makeRecorder(clock, log, memory, metrics.recorded, {
    file: options.report,
    countMax: options.reportMax,
    writeEveryMs: WRITE_EVERY_MS,
  })

  const live = makeLiveSet(engine, { manifests: paths, tokensMax, watchEveryMs }, log, metrics, clock)

  return {
    lookup: makeLookup({ engine, operations: live.set, registered, recorder, metrics, modeOf }),
    prepareWith: live.prepareWith,
    reload: live.reload,
    get varyOnClient() {
      return live.set().byClient || Object.keys(options.clients).length > 0
    },
    async close() {
      await live.close()
      await recorder.close()
    },
  }
}
