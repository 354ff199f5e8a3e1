/** The operations of WebSockets, as hooks of `graphql-ws`: prepared, admitted and run by the front, bounded per socket. */
import { parse, type DocumentNode, type ExecutionArgs } from 'graphql'
import type { ServerOptions } from 'graphql-ws'
import { TidemarkError, isTidemarkError } from '../../../core/errors.ts'
import { once } from '../../../core/once.ts'
import { costOpen, subscribeHeld, whenEnded } from '../../limits/open-cost.ts'
import type { Engine } from '../../operation/engine.ts'
import type { PreparedOperation } from '../../operation/prepared-operation.ts'
import type { Caller } from '../../request/caller.ts'
import { graphqlErrorOf } from '../../request/error-format.ts'
import type { Front } from '../../request/front.ts'
import type { OperationRequest } from '../../request/operation-request.ts'
import { costOf } from '../../request/preparation.ts'
import type { Credentials } from '../../identity/identify.ts'
import { operationOfMessage } from '../parameters.ts'
import type { ClientSocket, Sockets } from './sockets.ts'

/** Operations that one socket may have open at a time: far more than a client needs, and few enough to stop a flood. */
const OPERATIONS_MAX = 1_000

type Run = {
  readonly prepared: PreparedOperation
  readonly operation: OperationRequest
  readonly caller: Caller
  readonly socket: ClientSocket
  /** Releases the cost of its subscription, or its turn. */
  readonly release: () => void
}

type Hooks = ServerOptions<Credentials | undefined, ClientSocket>

export function makeOperationHooks(
  engine: Pick<Engine, 'schema'>,
  front: Front,
  sockets: Sockets,
): Pick<Hooks, 'onSubscribe' | 'execute' | 'subscribe' | 'onError' | 'onComplete'> {
  return {
    async onSubscribe(connection, id, payload) {
      const { extra, subscriptions } = connection
      // Read before the first `await`, because the next message overwrites it.
      const { messageLength } = extra
      if (sockets.isDraining()) return [SHUTTING_DOWN()]
      if (Object.keys(subscriptions).length > OPERATIONS_MAX) return [TOO_MANY()]
      const operation = operationOfMessage(payload)
      if (isTidemarkError(operation)) return [graphqlErrorOf(operation)]
      const prepared = await front.preparation.prepare(operation, extra.caller)
      if ('errors' in prepared) return prepared.errors
      const cost = costOf(prepared, operation)
      const isOpen = (): boolean => id in connection.subscriptions
      const start = (release: () => void) => {
        // The client may have completed the operation in the meantime.
        if (prepared.kind !== 'subscription' && isOpen()) extra.pending.add(id)
        const run: Run = { prepared, operation, caller: extra.caller, socket: extra, release }
        return { schema: engine.schema, document: DOCUMENTS[prepared.kind], contextValue: run }
      }
      const admitted = (release: () => void) => {
        const admission = front.preparation.admit(prepared, operation, extra.caller)
        if (admission === undefined) return start(release)
        return admission.then((refused) => {
          if (refused === undefined) return start(release)
          release()
          return refused.errors
        })
      }
      if (prepared.kind !== 'subscription') {
        const turn = extra.underWay.enter(cost)
        if (typeof turn === 'function') return admitted(turn)
        return turn.then((release) => {
          if (isOpen()) return admitted(release)
          release()
          // The client has left or completed the operation, so it receives nothing.
          return [COMPLETED()]
        })
      }
      const release = extra.open.take(costOpen(cost, messageLength))
      return isTidemarkError(release) ? [graphqlErrorOf(release)] : admitted(release)
    },
    async execute(args) {
      const { prepared, operation, caller, release } = runOf(args)
      try {
        return await front.operationRuns.execute(prepared, operation, caller)
      } finally {
        release()
      }
    },
    async subscribe(args) {
      const { prepared, operation, caller, socket, release } = runOf(args)
      const opened = await subscribeHeld(() => front.operationRuns.subscribe(prepared, operation, caller), release)
      if (!(Symbol.asyncIterator in opened)) return opened
      socket.streams += 1
      socket.intake?.proceed()
      return whenEnded(
        opened,
        once(() => (socket.streams -= 1)),
      )
    },
    onError: (_connection, _id, _payload, errors) => errors.map((error) => front.formatError(error, 'request').toJSON()),
    onComplete({ extra }, id) {
      extra.pending.delete(id)
      // The library sends the last message right after this hook; the close frame goes behind it.
      if (sockets.isDraining()) setImmediate(() => sockets.closeIfIdle(extra))
    },
  }
}

const SHUTTING_DOWN = () =>
  graphqlErrorOf(new TidemarkError('SHUTTING_DOWN', 'this process drains: connect again and repeat the operation'))
const TOO_MANY = () =>
  graphqlErrorOf(new TidemarkError('BAD_REQUEST', `more than ${OPERATIONS_MAX} operations are open on this socket: complete some first`))
const COMPLETED = () => graphqlErrorOf(new TidemarkError('BAD_REQUEST', 'the operation was completed before its turn'))

/**
 * The library reads the kind of an operation from its document. The operation is prepared already, so the library gets the smallest
 * document of that kind.
 */
const DOCUMENTS: Readonly<Record<PreparedOperation['kind'], DocumentNode>> = {
  query: parse('query { __typename }'),
  mutation: parse('mutation { __typename }'),
  subscription: parse('subscription { __typename }'),
}

function runOf(args: ExecutionArgs): Run {
  return args.contextValue as Run
}
