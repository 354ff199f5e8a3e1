/** A schema with one field for each possible course of a request, and a server around it. */
import { Registry } from '@prometheus-io/client'
import {
  GraphQLBoolean,
  GraphQLError,
  GraphQLID,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLSchema,
  GraphQLString,
  type GraphQLFieldConfigMap,
} from 'graphql'
import { pino } from 'pino'
import { systemClock } from '../../core/clock.ts'
import { makeConfig } from '../../config/config.ts'
import type { Viewer } from '../../core/viewer.ts'
import { TidemarkError } from '../../core/errors.ts'
import type { Engine } from '../../gateway/operation/engine.ts'
import { makePersisted, type Persisted, type PersistedOptions } from '../../gateway/persisted/persisted.ts'
import type { ClientMemory } from '../../gateway/memory/client-memory.ts'
import { makeServer, type GatewayServer, type ServerOptions } from '../../gateway/doors/server.ts'
import { makeIdentify, type AuthOptions } from '../../gateway/identity/identify.ts'
import type { Collaborators } from '../../gateway/request/front.ts'
import { makePlainEngine, type PlainEngine } from './plain-engine.ts'

export type FrontContext = { readonly viewer: Viewer | undefined; readonly number: number }

/** A gate that holds a resolver until a test opens it. */
export type Gate = { readonly entered: Promise<void>; open(): void }

export function makeFrontSchema() {
  const held: HeldResolver[] = []
  const sources = new Set<Source>()
  const schema = new GraphQLSchema({
    query: makeQuery(held),
    mutation: MUTATION,
    subscription: makeSubscription(sources),
  })
  return {
    schema,
    /** The open `changes` subscriptions. */
    sources,
    hold(): Gate {
      let open = () => {}
      let enter = () => {}
      const until = new Promise<void>((resolve) => (open = resolve))
      const entered = new Promise<void>((resolve) => (enter = resolve))
      held.push({ enter, until })
      return { entered, open }
    },
  }
}

type HeldResolver = { enter(): void; until: Promise<void> }

const NODE: GraphQLObjectType = new GraphQLObjectType({
  name: 'Node',
  fields: () => ({
    id: { type: GraphQLID, resolve: () => '1' },
    title: { type: GraphQLString, resolve: () => 'title' },
    node: { type: NODE, resolve: () => ({}) },
    errors: { type: new GraphQLList(GraphQLString), resolve: () => ['not an error'] },
  }),
})

function makeQuery(held: HeldResolver[]) {
  return new GraphQLObjectType<unknown, FrontContext>({
    name: 'Query',
    fields: {
      hello: {
        type: GraphQLString,
        args: { name: { type: GraphQLString } },
        resolve: (_source, { name }: { name?: string }) => `hello ${name ?? 'world'}`,
      },
      viewer: { type: GraphQLID, resolve: (_source, _arguments, context) => context.viewer?.id },
      context: { type: GraphQLInt, resolve: (_source, _arguments, context) => context.number },
      mine: {
        type: GraphQLString,
        resolve: (_source, _arguments, context) => {
          if (context.viewer === undefined) throw new TidemarkError('UNAUTHENTICATED', 'history belongs to a viewer: send a token')
          return `of ${context.viewer.id}`
        },
      },
      ...FAILING,
      node: { type: NODE, resolve: () => ({}) },
      held: {
        type: GraphQLBoolean,
        resolve: async () => {
          const gate = held.shift()
          gate?.enter()
          await gate?.until
          return true
        },
      },
    },
  })
}

/** Fields that fail, each in its own way. */
const FAILING: GraphQLFieldConfigMap<unknown, FrontContext> = {
  broken: {
    type: GraphQLString,
    resolve: () => {
      throw new Error('password "hunter2" refused by store-7.internal')
    },
  },
  down: {
    type: GraphQLString,
    resolve: () => {
      throw new TidemarkError('HOT_STORE_UNAVAILABLE', 'the hot store does not answer: try again')
    },
  },
  partner: {
    type: GraphQLString,
    resolve: () => {
      throw new GraphQLError('no such movie', { extensions: { code: 'MOVIE_UNKNOWN', stacktrace: ['at movies.js:1'] } })
    },
  },
}

const MUTATION = new GraphQLObjectType<unknown, FrontContext>({
  name: 'Mutation',
  fields: {
    report: {
      type: GraphQLString,
      args: { oid: { type: new GraphQLNonNull(GraphQLID) } },
      resolve: (_source, { oid }: { oid: string }, { viewer }) => `${viewer?.id ?? 'nobody'}:${oid}`,
    },
  },
})

function makeSubscription(sources: Set<Source>) {
  return new GraphQLObjectType<unknown, FrontContext>({
    name: 'Subscription',
    fields: {
      ticks: {
        type: GraphQLInt,
        args: { count: { type: new GraphQLNonNull(GraphQLInt) } },
        subscribe: async function* (_source, { count }: { count: number }) {
          for (let tick = 1; tick <= count; tick++) yield { ticks: tick }
        },
      },
      changes: {
        type: GraphQLString,
        subscribe: () => {
          const source = makeSource(() => sources.delete(source))
          sources.add(source)
          return source.iterator
        },
      },
      forbidden: {
        type: GraphQLString,
        subscribe: () => {
          throw new TidemarkError('UNAUTHENTICATED', 'changes belong to a viewer: send a token')
        },
      },
      breaks: {
        type: GraphQLInt,
        subscribe: async function* () {
          yield { breaks: 1 }
          throw new Error('password "hunter2" refused by store-7.internal')
        },
      },
    },
  })
}

type Source = { emit(change: string): void; waitingToBeRead(): number; readonly iterator: AsyncIterableIterator<{ changes: string }> }

/** Events until `return()` is called. Until then it waits for the next one without a limit. */
function makeSource(returned: () => void): Source {
  const waiting: ((step: IteratorResult<{ changes: string }>) => void)[] = []
  const ready: { changes: string }[] = []
  return {
    emit(changes) {
      const waiter = waiting.shift()
      if (waiter === undefined) ready.push({ changes })
      else waiter({ done: false, value: { changes } })
    },
    waitingToBeRead: () => ready.length,
    iterator: {
      next() {
        const value = ready.shift()
        return value === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve({ done: false, value })
      },
      return() {
        returned()
        for (const waiter of waiting.splice(0)) waiter({ done: true, value: undefined })
        return Promise.resolve({ done: true, value: undefined })
      },
      [Symbol.asyncIterator]() {
        return this
      },
    },
  }
}

export type TestServer = GatewayServer & {
  readonly url: string
  readonly engine: PlainEngine
  readonly registry: Registry
  /** Lines of the log, parsed. */
  readonly logged: Record<string, unknown>[]
  readonly sources: ReturnType<typeof makeFrontSchema>['sources']
  readonly persisted: Persisted
  hold(): Gate
}

type TestOptions = Partial<ServerOptions> & {
  readonly auth?: AuthOptions
  readonly toJson?: boolean
  readonly ready?: Collaborators['ready']
  /** Further collaborators of the front: limits, proxies, costs. */
  readonly more?: Partial<Collaborators>
  readonly persisted?: Partial<PersistedOptions>
  /** Replaces the plain engine of the schema above. */
  readonly engine?: Engine
  /** The memory for texts that clients register. */
  readonly memory?: ClientMemory
}

export async function startServer(options: TestOptions = {}): Promise<TestServer> {
  const {
    auth = {},
    toJson = false,
    persisted = {},
    engine: ownEngine,
    memory,
    ready = async () => ({ ok: true, stores: { hot: 'ok' } }),
    more = {},
    ...given
  } = options
  const { schema, sources, hold } = makeFrontSchema()
  const engine = makePlainEngine(schema, { toJson })
  const registry = new Registry()
  const logged: Record<string, unknown>[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void logged.push(JSON.parse(line) as Record<string, unknown>) })
  const operations = makePersisted(
    ownEngine ?? engine,
    { ...makeConfig([]).persisted, watchEveryMs: 0, tokensMax: 5_000, ...persisted },
    log,
    registry,
    systemClock,
    memory,
  )
  const mode = given.mode ?? 'development'
  let number = 0
  const server = makeServer(
    ownEngine ?? engine,
    { host: '127.0.0.1', port: 0, mode, bodyBytesMax: 100_000, drainMaxMs: 5_000, ...given },
    {
      identify: makeIdentify(auth, mode),
      makeContext: (viewer): FrontContext => ({ viewer, number: ++number }),
      ready,
      log,
      registry,
      ...more,
      persisted: operations,
    },
  )
  const { url } = await server.listen()
  async function close(): Promise<void> {
    await server.close()
    await operations.close()
  }
  return { ...server, close, url, engine, registry, logged, sources, hold, persisted: operations }
}

export async function post(
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: Headers; json: GraphQLAnswer }> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: response.status, headers: response.headers, json: (await response.json()) as GraphQLAnswer }
}

export type GraphQLAnswer = {
  data?: Record<string, unknown> | null
  errors?: { message: string; path?: (string | number)[]; locations?: unknown[]; extensions?: Record<string, unknown> }[]
}
