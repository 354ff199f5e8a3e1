/**
 * Runs the cases of the public federation-gateway-audit against our gateway. The audit's own server has the subgraphs, the
 * supergraphs and the cases; it runs from a clone of its repository. Here each suite gets its own gateway, which receives the
 * queries over HTTP.
 *
 *   git clone https://github.com/graphql-hive/federation-gateway-audit; in the clone: npm install; npx tsx src/cli.ts serve --port 4200
 *   node bench/audits/federation.ts http://localhost:4200 [--suite ID] [--compose]
 *
 * A case passes by the audit's rule: equal data, and errors if and only if the case says so. If the case does not say, errors
 * are counted and printed: an inaccessible value that became null. `--compose` composes the subgraphs' SDL with our composer in
 * place of the audit's supergraphs. With `PUNISH_FOR_POOR_PLANS=1` its subgraphs fail if they are asked for a provided field.
 */
import { isDeepStrictEqual, parseArgs } from 'node:util'
import { composeSupergraph } from '../../gateway/supergraph/compose.ts'
import { startAuditedGateway } from './gateway.ts'

type Case = { query: string; expected: { data?: unknown; errors?: boolean } }
type Answer = { data?: unknown; errors?: readonly { message: string }[] }
type Subgraph = { name: string; url: string; sdl: string }

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { suite: { type: 'string' }, compose: { type: 'boolean' } },
})
const [audit = 'http://localhost:4200'] = positionals

let passed = 0
let all = 0
let unasked = 0
for (const id of await get<string[]>('ids')) {
  if (values.suite !== undefined && values.suite !== id) continue
  const cases = await get<Case[]>(`${id}/tests`)
  all += cases.length
  try {
    await runSuite(id, cases)
  } catch (error) {
    console.log(`FAILED  ${id}, all ${cases.length} cases: ${(error as Error).message}`)
  }
}
console.log(`${passed} of ${all} cases passed; ${unasked} of them have errors and a case that does not mention errors`)
process.exitCode = passed === all ? 0 : 1

async function runSuite(id: string, cases: readonly Case[]): Promise<void> {
  const gateway = await startAuditedGateway(await supergraphOf(id), 0)
  try {
    for (const [index, each] of cases.entries()) {
      const answer = await ask(gateway.url, each.query)
      const problem = problemOf(answer, each)
      if (problem !== undefined) console.log(`FAILED  ${id} ${index}: ${problem}\n${each.query}\n${JSON.stringify(answer)}`)
      else passed += 1
      if (problem === undefined && hasErrors(answer) && each.expected.errors === undefined) unasked += 1
    }
  } finally {
    await gateway.close()
  }
}

async function supergraphOf(id: string): Promise<string> {
  if (values.compose === true) return composeSupergraph(await get<Subgraph[]>(`${id}/subgraphs`))
  return (await fetch(`${audit}/${id}/supergraph`)).text()
}

function problemOf(answer: Answer, { expected }: Case): string | undefined {
  if (!isDeepStrictEqual(answer.data ?? null, expected.data ?? null)) return `expected the data ${JSON.stringify(expected.data ?? null)}`
  if (expected.errors === undefined || expected.errors === hasErrors(answer)) return undefined
  return expected.errors ? 'expected errors' : 'expected no errors'
}

function hasErrors({ errors = [] }: Answer): boolean {
  return errors.length > 0
}

async function ask(url: string, query: string): Promise<Answer> {
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ query }) })
  return (await response.json()) as Answer
}

async function get<T>(path: string): Promise<T> {
  const response = await fetch(`${audit}/${path}`, { headers: { accept: 'application/json' } })
  if (!response.ok) throw new Error(`the audit's server answered ${response.status} to ${path}`)
  return (await response.json()) as T
}
