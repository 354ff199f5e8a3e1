/** Finds the prepared operation of a request by id, by text, or by both. persisted.ts has the rules of the modes. */
import { TidemarkError, isTidemarkError } from '../../core/errors.ts'
import { isPromise } from '../execution/run.ts'
import type { Engine } from '../operation/engine.ts'
import type { Prepared, PreparedOperation } from '../operation/prepared-operation.ts'
import type { Gate } from '../operation/preparing.ts'
import { graphqlErrorOf } from '../request/error-format.ts'
import type { OperationRequest } from '../request/operation-request.ts'
import { hashMismatch, notFound, notInList, notRegistrable, notSupported } from './lookup-errors.ts'
import { isSha256, scopedKey, sha256 } from './manifest.ts'
import type { PersistedMetrics } from './metrics.ts'
import type { PersistedMode } from './modes.ts'
import type { PinnedText, PinnedSet } from './pinned-operations.ts'
import type { Recorder } from './recorder.ts'
import type { RegisteredTexts } from './registered-texts.ts'
import { requestIdOf, type RequestId } from './request-id.ts'

export type LookupParts = {
  readonly engine: Pick<Engine, 'prepareFor'>
  /** The current operations of the manifests. */
  operations(): PinnedSet
  readonly registered: RegisteredTexts
  readonly recorder: Recorder
  readonly metrics: PersistedMetrics
  modeOf(client: string | undefined): PersistedMode
}

/** Returns errors and never throws them. It asks `gate` before it prepares a new operation. */
export type Lookup = (request: OperationRequest, client: string | undefined, gate: Gate) => Prepared | Promise<Prepared>

const REGISTERED_LENGTH_MAX = 65_536

/** Finds operations by their text only. */
export function textLookup(engine: Pick<Engine, 'prepareFor'>): Lookup {
  return ({ query = '', operationName }, _client, gate) => engine.prepareFor(gate, query, operationName)
}

export function makeLookup({ engine, operations, registered, recorder, metrics, modeOf }: LookupParts): Lookup {
  return function lookup(request, client, gate) {
    try {
      return find(request, client, gate)
    } catch (error) {
      if (!isTidemarkError(error)) throw error
      return { errors: [graphqlErrorOf(error)] }
    }
  }

  /** Throws TidemarkErrors; errors of the operation itself are in its result. */
  function find(request: OperationRequest, client: string | undefined, gate: Gate): Prepared | Promise<Prepared> {
    const { query, operationName } = request
    const mode = modeOf(client)
    if (mode === 'off' && query !== undefined && query !== '') return engine.prepareFor(gate, query, operationName)
    const called = requestIdOf(request)
    if (called === undefined) {
      if (query === undefined) throw new TidemarkError('BAD_REQUEST', '"query" is missing: send the text of the operation, or its id')
      return byText(query, request, client, mode, gate)
    }
    if (mode === 'off') throw notSupported(called)
    // The WebSocket protocol requires a query. An empty one means that the request has only an id.
    const text = query === '' ? undefined : query
    const entry = operations().byId(called.id, client)
    if (text !== undefined) checkText(called, text, entry)
    if (entry !== undefined) {
      metrics.count('manifest')
      return ofPinned(entry, operationName, gate)
    }
    if (mode === 'enforce') throw refused(`the id ${called.id} is in no manifest`)
    if (text !== undefined) return register(called, text, request, client, mode, gate)
    const known = registered.get(called.id)
    if (known === undefined) {
      metrics.count('not_found')
      throw notFound(called)
    }
    metrics.count('registered')
    return byText(known, request, client, mode, gate)
  }

  function byText(
    text: string,
    { operationName }: OperationRequest,
    client: string | undefined,
    mode: PersistedMode,
    gate: Gate,
  ): Prepared | Promise<Prepared> {
    const entry = operations().byText(text, client)
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
    recorder.note(() => ({ id: sha256(text), name, type, body: text, client }), scopedKey(text, client))
  }

  function ofPinned({ body, prepared }: PinnedText, operationName: string | undefined, gate: Gate): Prepared | Promise<Prepared> {
    // The engine has the error for a name that the text does not have.
    return prepared.get(operationName) ?? engine.prepareFor(gate, body, operationName)
  }

  /** An id and a text must match. Otherwise one client could register its text under the id of another client's operation. */
  function checkText(called: RequestId, text: string, entry: PinnedText | undefined): void {
    if (entry !== undefined ? entry.body === text : isSha256(called.id) && sha256(text) === called.id) return
    metrics.count('mismatch')
    throw entry !== undefined || isSha256(called.id) ? hashMismatch(called) : notRegistrable(called)
  }

  function register(
    { id }: RequestId,
    text: string,
    request: OperationRequest,
    client: string | undefined,
    mode: 'apq' | 'report',
    gate: Gate,
  ): Prepared | Promise<Prepared> {
    return after(byText(text, request, client, mode, gate), () => {
      if (text.length <= REGISTERED_LENGTH_MAX) registered.set(id, text)
    })
  }

  function refused(subject: string): TidemarkError {
    metrics.count('refused')
    return notInList(subject)
  }
}

function after(outcome: Prepared | Promise<Prepared>, more: (prepared: PreparedOperation) => void): Prepared | Promise<Prepared> {
  if (isPromise(outcome)) return outcome.then((known) => after(known, more))
  if (!('errors' in outcome)) more(outcome)
  return outcome
}
