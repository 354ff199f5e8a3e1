/**
 * Persisted operations: from what a request says (an id, a text, or both) to a prepared operation. Every door asks here,
 * so POST, GET, event streams and WebSockets know the same operations under the same rules:
 *
 *   off      texts only
 *   apq      any text; ids of manifests; ids that clients registered by sending id and text together
 *   report   the same, and texts that no manifest has are recorded
 *   enforce  what manifests have, by id or as the very text; nothing else
 *
 *   request-id.ts      where an id may stand
 *   modes.ts           which client is under which rules
 *   live-set.ts        the operations of the manifests as they are now; manifest*.ts read them, pinned.ts prepares them
 *   registered.ts      automatic persisted queries
 *   recorder.ts        what report mode writes down
 */
import type { GraphQLError } from 'graphql'
import type { Registry } from '@prometheus-io/client'
import type { Clock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import { TidemarkError, isTidemarkError, type ErrorCode } from '../../core/errors.ts'
import type { Engine, PreparedOperation } from '../operation/engine.ts'
import { graphqlErrorOf, type Log } from '../request/error-format.ts'
import { makeClientMemory, type ClientMemory } from '../memory/client-memory.ts'
import type { Gate } from '../operation/preparing.ts'
import { isPromise } from '../execution/run.ts'
import { makeLiveSet, type LiveSet } from './live-set.ts'
import { isSha256, keyOf, sha256 } from './manifest.ts'
import { makePersistedMetrics } from './metrics.ts'
import { makeModeOf, type PersistedMode } from './modes.ts'
import type { Pinned, Preparing } from './pinned.ts'
import { makeRecorder } from './recorder.ts'
import { makeRegistered } from './registered.ts'
import { requestIdOf, type RequestId } from './request-id.ts'
import type { OperationRequest } from '../request/operation-request.ts'

export type Outcome = PreparedOperation | { readonly errors: readonly GraphQLError[] }

export type Persisted = {
  /** Errors come back, never thrown. */
  prepare(request: OperationRequest, client: string | undefined, gate: Gate): Outcome | Promise<Outcome>
  /** Answers may depend on the name of the client. */
  readonly varyOnClient: boolean
  close(): Promise<void>
} & Pick<LiveSet, 'prepareWith' | 'reload'>

export type PersistedOptions = Config['persisted'] & {
  /** Tokens an operation may have. */
  readonly tokensMax: number
}

const REGISTERED_LENGTH_MAX = 65_536
const WRITE_EVERY_MS = 5_000

/** Throws CONFIG_INVALID with one sentence per mistake of the manifests. */
export function makePersisted(
  engine: Preparing & Pick<Engine, 'prepareFor'>,
  options: PersistedOptions,
  log: Log,
  registry: Registry,
  clock: Clock,
  memory: ClientMemory = makeClientMemory(),
): Persisted {
  const { manifests: paths, tokensMax, watchEveryMs } = options
  const metrics = makePersistedMetrics(registry)
  const modeOf = makeModeOf(options)
  const registered = makeRegistered(memory)
  const recorder = makeRecorder(clock, log, memory, metrics.recorded, {
    file: options.report,
    countMax: options.reportMax,
    writeEveryMs: WRITE_EVERY_MS,
  })

  const live = makeLiveSet(engine, { manifests: paths, tokensMax, watchEveryMs }, log, metrics, clock)

  function prepare(request: OperationRequest, client: string | undefined, gate: Gate): Outcome | Promise<Outcome> {
    try {
      return find(request, client, gate)
    } catch (error) {
      if (!isTidemarkError(error)) throw error
      return { errors: [graphqlErrorOf(error)] }
    }
  }

  function find(request: OperationRequest, client: string | undefined, gate: Gate): Outcome | Promise<Outcome> {
    const { query, operationName } = request
    const mode = modeOf(client)
    if (mode === 'off' && query !== undefined && query !== '') return engine.prepareFor(gate, query, operationName)
    const called = requestIdOf(request)
    if (called === undefined) {
      if (query === undefined) throw new TidemarkError('BAD_REQUEST', '"query" is missing: send the text of the operation, or its id')
      return byText(query, request, client, mode, gate)
    }
    if (mode === 'off') throw notSupported(called)
    // Over WebSocket a query must be there; an empty one says nothing.
    const text = query === '' ? undefined : query
    const entry = live.set().byId(called.id, client)
    if (text !== undefined) checkText(called, text, entry)
    if (entry !== undefined) {
      metrics.count('manifest')
      return ofPinned(entry, operationName, gate)
    }
    if (mode === 'enforce') throw refused(`the id ${called.id} is in no manifest`)
    if (text !== undefined) return register(called, text, request, client, mode, gate)
    const known = registered.get(called.id)
    if (known === undefined) throw notFound(called)
    metrics.count('registered')
    return byText(known, request, client, mode, gate)
  }

  function byText(
    text: string,
    { operationName }: OperationRequest,
    client: string | undefined,
    mode: PersistedMode,
    gate: Gate,
  ): Outcome | Promise<Outcome> {
    const entry = live.set().byText(text, client)
    if (entry !== undefined) {
      metrics.count('manifest')
      return ofPinned(entry, operationName, gate)
    }
    if (mode === 'enforce') throw refused('this text is in no manifest')
    const prepared = engine.prepareFor(gate, text, operationName)
    return mode === 'report' ? after(prepared, ({ kind, name }) => noteUnknown(text, kind, name, client)) : prepared
  }

  function noteUnknown(text: string, type: string, name: string | undefined, client: string | undefined): void {
    metrics.count('unknown')
    recorder.note(() => ({ id: sha256(text), name, type, body: text, client }), keyOf(text, client))
  }

  function ofPinned({ body, prepared }: Pinned, operationName: string | undefined, gate: Gate): Outcome | Promise<Outcome> {
    // The engine says best what is wrong with a name that the text does not have.
    return prepared.get(operationName) ?? engine.prepareFor(gate, body, operationName)
  }

  /** An id and a text must belong together, or one client could put words in the mouth of another. */
  function checkText(called: RequestId, text: string, entry: Pinned | undefined): void {
    if (entry !== undefined ? entry.body === text : isSha256(called.id) && sha256(text) === called.id) return
    metrics.count('mismatch')
    if (entry !== undefined || isSha256(called.id))
      throw coded(
        'PERSISTED_QUERY_HASH_MISMATCH',
        `the text is not that of the id ${called.id}: send the id of this text, or leave one out`,
      )
    throw coded('BAD_REQUEST', `the id ${called.id} is no SHA-256, so it cannot be registered: send the text without an id`)
  }

  function register(
    { id }: RequestId,
    text: string,
    request: OperationRequest,
    client: string | undefined,
    mode: 'apq' | 'report',
    gate: Gate,
  ): Outcome | Promise<Outcome> {
    return after(byText(text, request, client, mode, gate), () => {
      if (text.length <= REGISTERED_LENGTH_MAX) registered.set(id, text)
    })
  }

  function notFound(called: RequestId): TidemarkError {
    metrics.count('not_found')
    const sentence = `no operation has the id ${called.id}: send it once with its text as "query", or add it to a manifest`
    return coded('PERSISTED_QUERY_NOT_FOUND', called.automatic ? 'PersistedQueryNotFound' : sentence)
  }

  function notSupported(called: RequestId): TidemarkError {
    const sentence = 'persisted operations are off: send the text of the operation as "query"'
    return coded('PERSISTED_QUERY_NOT_SUPPORTED', called.automatic ? 'PersistedQueryNotSupported' : sentence)
  }

  function refused(what: string): TidemarkError {
    metrics.count('refused')
    return coded('PERSISTED_QUERY_NOT_IN_LIST', `${what}: this client may run only operations of a manifest; add it to one`)
  }

  return {
    prepare,
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

/** Runs a further step once an operation is prepared. */
function after(outcome: Outcome | Promise<Outcome>, more: (prepared: PreparedOperation) => void): Outcome | Promise<Outcome> {
  if (isPromise(outcome)) return outcome.then((known) => after(known, more))
  if (!('errors' in outcome)) more(outcome)
  return outcome
}

function coded(code: ErrorCode, message: string): TidemarkError {
  return new TidemarkError(code, message)
}
