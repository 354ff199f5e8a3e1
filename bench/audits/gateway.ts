/** Our whole gateway in front of the remote subgraphs of a supergraph, for audits. */
import { Registry } from '@prometheus-io/client'
import { parse } from 'graphql'
import type { ConstDirectiveNode } from 'graphql'
import { Kind } from 'graphql'
import { pino } from 'pino'
import { makeEngine } from '../../gateway/operation/engine.ts'
import { GRAPHQL_PATH, makeServer } from '../../gateway/doors/server.ts'
import { remoteTransport } from '../../gateway/transports/remote-transport.ts'

export type AuditedGateway = { url: string; close(): Promise<void> }

/** As in production, with two differences: error messages of development, and no limits except the size of a body. */
export async function startAuditedGateway(supergraph: string, port: number): Promise<AuditedGateway> {
  const subgraphs = remotesOf(supergraph).map((remote) => ({ name: remote.name, transport: remoteTransport(remote) }))
  const engine = makeEngine(supergraph, subgraphs, { tokensMax: 100_000 })
  const server = makeServer(
    engine,
    { host: '127.0.0.1', port, mode: 'development', bodyBytesMax: 10_485_760, drainMaxMs: 1_000 },
    {
      identify: () => Promise.resolve(undefined),
      makeContext: () => ({}),
      ready: () => Promise.resolve({ ok: true, stores: {} }),
      log: pino({ level: 'silent' }),
      registry: new Registry(),
    },
  )
  const { url } = await server.listen()
  return {
    url: url + GRAPHQL_PATH,
    async close() {
      await server.close()
      await Promise.all(subgraphs.map(({ transport }) => transport.close()))
    },
  }
}

/** `enum join__Graph { A @join__graph(name: "a", url: "http://…") }` */
function remotesOf(supergraph: string): { name: string; url: string }[] {
  for (const definition of parse(supergraph).definitions) {
    if (definition.kind !== Kind.ENUM_TYPE_DEFINITION || definition.name.value !== 'join__Graph') continue
    return (definition.values ?? []).map(({ directives }) => ({ name: argumentOf(directives, 'name'), url: argumentOf(directives, 'url') }))
  }
  throw new Error('this is not a supergraph: it has no join__Graph')
}

function argumentOf(directives: readonly ConstDirectiveNode[] | undefined, name: string): string {
  const value = directives?.[0]?.arguments?.find((argument) => argument.name.value === name)?.value
  if (value?.kind !== Kind.STRING) throw new Error(`a subgraph of the supergraph has no ${name}`)
  return value.value
}
