/**
 * Generates the derived files of schema/. With --check it fails if one of them is stale.
 * - supergraph.graphql is composed from the subgraphs, under the default configuration. Processes with that configuration read it.
 * - records.js and records.d.ts come from records.proto. npx fetches protobufjs-cli, which is no dependency because only
 *   this script needs it. The last line of records.js has the hash of records.proto, which proves that both files are fresh.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeConfig } from '../config/config.ts'
import { composeSupergraph } from '../gateway/supergraph/compose.ts'
import { storedForm } from '../gateway/supergraph/composer.ts'
import { ourSubgraphs } from '../subgraphs/catalog.ts'

const folder = join(import.meta.dirname, '..', 'schema')
const supergraphFile = join(folder, 'supergraph.graphql')
const recordsFile = join(folder, 'records.js')
const PBJS = ['--yes', '-p', 'protobufjs-cli@2.7.1']

const subgraphs = ourSubgraphs(makeConfig([]))
const supergraph = storedForm(subgraphs, composeSupergraph(subgraphs))
const protoLine = `// records.proto ${createHash('sha256')
  .update(readFileSync(join(folder, 'records.proto')))
  .digest('hex')}\n`

if (process.argv.includes('--check')) check()
else generate()

function check(): void {
  const stale: string[] = []
  if (read(supergraphFile) !== supergraph) stale.push('schema/supergraph.graphql')
  if (!read(recordsFile).endsWith(protoLine)) stale.push('schema/records.js')
  if (stale.length === 0) return
  console.error(`${stale.join(' and ')} no longer fit their sources: run "npm run schema" and commit the result`)
  process.exitCode = 1
}

function generate(): void {
  writeFileSync(supergraphFile, supergraph)
  if (read(recordsFile).endsWith(protoLine)) return
  const form = [
    '-t',
    'static-module',
    '-w',
    'es6',
    '--es6',
    '--force-number',
    '--no-create',
    '--no-verify',
    '--no-convert',
    '--no-delimited',
    '--no-service',
  ]
  execFileSync('npx', [...PBJS, 'pbjs', ...form, 'records.proto', '-o', 'records.js'], { cwd: folder, stdio: 'inherit' })
  execFileSync('npx', [...PBJS, 'pbts', 'records.js', '-o', 'records.d.ts'], { cwd: folder, stdio: 'inherit' })
  appendFileSync(recordsFile, protoLine)
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
