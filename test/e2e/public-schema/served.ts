/** The real service beside a partner's subgraph, and requests to it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeServiceFolder, startService, type Service } from '../../../harness/deployment/service.ts'
import { LINK, startPartner, type Partner } from '../../support/partner.ts'

const SDL = `${LINK}
  type Query { films: [String] }
  type Mutation { play: String }
`
const RESOLVERS = { Query: { films: () => ['Alien', 'Brazil'] }, Mutation: { play: () => 'played' } }

export type Served = { readonly service: Service; readonly partner: Partner; stop(): Promise<void> }

export async function serve(settings: Record<string, unknown> = {}): Promise<Served> {
  const partner = await startPartner(SDL, RESOLVERS)
  const { folder, remove } = makeServiceFolder()
  const [schema, supergraph] = [join(folder, 'partner.graphql'), join(folder, 'supergraph.yaml')]
  writeFileSync(schema, SDL)
  writeFileSync(supergraph, JSON.stringify({ subgraphs: { films: { routing_url: partner.url, schema: { file: schema } } } }))
  const service = await startService({ folder, settings: { server: { supergraph }, supergraph: { pollMs: 0 }, ...settings } })
  return {
    service,
    partner,
    async stop() {
      await service.stop()
      await partner.stop()
      remove()
    },
  }
}
