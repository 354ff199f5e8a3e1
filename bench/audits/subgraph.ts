/**
 * Runs the tests of apollo-federation-subgraph-compatibility against our standalone subgraph and our gateway. The tests are
 * unchanged except for the address of the router. The suite's own runner needs Docker or pm2, and Apollo's router.
 *
 *   node bench/audits/subgraph.ts CLONE [--apollo]
 *
 * CLONE is a clone of apollographql/apollo-federation-subgraph-compatibility after `npm ci --ignore-scripts`. Its products subgraph runs here, with the SDL and the resolvers of its
 * apollo-server example. Its users and inventory subgraphs run unchanged, on ports 4002 and 4003. `--apollo` composes with Apollo's composer
 * in place of ours, after `npm ci` in bench/apollo-composition. The address of the router is written into the clone.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { buildSubgraphSchema, type GraphQLResolverMap } from '@apollo/subgraph'
import { Registry } from '@prometheus-io/client'
import { GraphQLError, parse } from 'graphql'
import { pino } from 'pino'
import { makeConfig } from '../../config/config.ts'
import type { RequestContext } from '../../gateway/operation/prepared-operation.ts'
import { makeJudge } from '../../gateway/limits/judge.ts'
import { makeStandaloneServer } from '../../gateway/standalone/standalone-server.ts'
import { composeSupergraph } from '../../gateway/supergraph/compose.ts'
import { startStandalone, TRACE_HEADER } from '../../subgraphs/standalone.ts'
import { startAuditedGateway } from './gateway.ts'

type Subgraph = { name: string; url: string; sdl: string }
type Context = RequestContext & { readonly forwarded?: Readonly<Record<string, string>> | undefined }

const { values, positionals } = parseArgs({ allowPositionals: true, options: { apollo: { type: 'boolean', default: false } } })
const clone = resolve(positionals[0] ?? '.')
const tests = join(clone, 'packages', 'compatibility')
if (!existsSync(tests)) throw new Error(`${clone} is not a clone of apollo-federation-subgraph-compatibility: give its folder`)

const products = await startProducts()
const others = await Promise.all([startOther('users', 4002), startOther('inventory', 4003)])
const subgraphs = [products, ...others]
const gateway = await startAuditedGateway(values.apollo ? composeByApollo(subgraphs) : composeSupergraph(subgraphs), 0)
process.exitCode = await runJest()
await Promise.all([gateway.close(), products.close()])
for (const other of others) other.process.kill()

async function startProducts(): Promise<Subgraph & { close(): Promise<void> }> {
  const example = join(clone, 'implementations', 'apollo-server')
  const sdl = readFileSync(join(example, 'products.graphql'), 'utf8')
  const schema = buildSubgraphSchema([{ typeDefs: parse(sdl), resolvers: await resolversOf(join(example, 'index.js')) }])
  const { server, persisted } = makeConfig([])
  const apollo = await startStandalone(schema)
  const alone = makeStandaloneServer(
    schema,
    (document, variables, context: Context) => apollo.execute(document, variables, context, context.forwarded?.[TRACE_HEADER]),
    { ...server, port: 0, sdl, tokensMax: server.operationTokensMax, judge: makeJudge(server), persisted },
    {
      identify: () => Promise.resolve(undefined),
      forwardHeaders: [TRACE_HEADER],
      makeContext: (_viewer, _lasting, { forwarded }) => ({ forwarded }),
      ready: () => Promise.resolve({ ok: true, stores: {} }),
      log: pino({ level: 'silent' }),
      registry: new Registry(),
    },
  )
  const { url } = await alone.listen()
  return {
    name: 'products',
    url: `${url}/`,
    sdl,
    async close() {
      await alone.close()
      await apollo.stop()
    },
  }
}

/** The example is one file: its data, its SDL, its resolvers and its server, in this order. */
async function resolversOf(file: string): Promise<GraphQLResolverMap> {
  const source = readFileSync(file, 'utf8')
  const between = (from: string, to: string) => source.slice(source.indexOf(from), source.indexOf(to))
  const body = between('const deprecatedProduct', 'const sdl') + between('const resolvers', 'const server =')
  const module = `export function makeResolvers(GraphQLError) { ${body}\nreturn resolvers }`
  const { makeResolvers } = await import(`data:text/javascript,${encodeURIComponent(module)}`)
  return makeResolvers(GraphQLError)
}

async function startOther(name: string, port: number): Promise<Subgraph & { process: ChildProcess }> {
  const folder = join(clone, 'packages', 'subgraphs', name)
  const child = spawn(process.execPath, ['index.js'], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
  process.once('exit', () => child.kill())
  await once(child.stdout, 'data')
  return { name, url: `http://localhost:${port}/`, sdl: readFileSync(join(folder, `${name}.graphql`), 'utf8'), process: child }
}

function composeByApollo(all: readonly Subgraph[]): string {
  const require = createRequire(new URL('../apollo-composition/compare.mjs', import.meta.url))
  const { composeServices } = require('@apollo/composition')
  const { errors, supergraphSdl } = composeServices(
    all.map(({ name, url, sdl }) => ({ name, url, typeDefs: require('graphql').parse(sdl) })),
  )
  if (errors !== undefined) throw new Error(`Apollo's composer refuses the subgraphs: ${errors.join('\n')}`)
  return supergraphSdl
}

/** Its exit status. */
async function runJest(): Promise<number> {
  copyFileSync(join(clone, 'implementations', '_template_library_', 'products.graphql'), join(tests, 'products.graphql'))
  const client = join(tests, 'src', 'utils', 'client.ts')
  writeFileSync(client, readFileSync(client, 'utf8').replace(/(ROUTER_URL = ')[^']*/, `$1${gateway.url}`))
  const config = { rootDir: join(tests, 'src', 'tests'), transform: { '\\.ts$': ['ts-jest', { diagnostics: false }] } }
  const child = spawn('npx', ['jest', '--ci', '--config', JSON.stringify(config)], {
    cwd: clone,
    stdio: 'inherit',
    env: { ...process.env, PRODUCTS_URL: products.url },
  })
  const [status] = (await once(child, 'exit')) as [number | null]
  return status ?? 1
}
