/**
 * `node bench/audits/serve.ts SUPERGRAPH_FILE PORT`: our gateway in front of the remote subgraphs of a composed supergraph, for
 * audits that start the gateway themselves. Prints `ready` when it listens. Serves `/graphql` and `/health/ready`.
 */
import { readFileSync } from 'node:fs'
import { startAuditedGateway } from './gateway.ts'

const [file = '', port = '4000'] = process.argv.slice(2)
const gateway = await startAuditedGateway(readFileSync(file, 'utf8'), Number(port))
process.once('SIGTERM', () => void gateway.close())
process.once('SIGINT', () => void gateway.close())
console.log('ready')
