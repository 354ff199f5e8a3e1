/**
 * `node serve.mjs KIND SUPERGRAPH_FILE PORT`: another gateway in front of remote subgraphs, at the URLs of the supergraph.
 * KIND is hive-native, hive-js or apollo. Prints `ready` when it listens. Answers on every path, `/graphql` included.
 */
import { readFileSync } from 'node:fs'

const [kind, file, port] = process.argv.slice(2)
const supergraph = readFileSync(file, 'utf8')

switch (kind) {
  case 'hive-native':
  case 'hive-js': {
    const { startHive } = await import('./hive.mjs')
    await startHive(kind.slice('hive-'.length), supergraph, Number(port))
    break
  }
  case 'apollo': {
    const { startApollo } = await import('./apollo.mjs')
    await startApollo(supergraph, Number(port))
    break
  }
  default:
    throw new Error(`there is no gateway "${kind}": use hive-native, hive-js or apollo`)
}
console.log('ready')
