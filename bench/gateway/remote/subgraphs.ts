/**
 * `node bench/gateway/remote/subgraphs.ts PORT`: the four subgraphs in one process. A repeated body gets the same bytes again, so
 * the subgraphs cost very little compared with the gateway. Below `/changing` no two answers are equal: a number in their
 * extensions counts up. It has a fixed length and is at the end, so comparing answers takes longest. `GET /calls` returns the
 * number of calls so far.
 */
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { execute, parse } from 'graphql'
import { NAMES, remoteSchema } from './graph.ts'

type Body = { query: string; variables?: Record<string, unknown>; operationName?: string }

const schemas = new Map(NAMES.map((name) => [`/${name}`, remoteSchema(name)]))
const canned = new Map<string, Buffer>()
let calls = 0
const CHANGING = '/changing'

async function answerTo(path: string, body: string): Promise<Buffer> {
  const known = canned.get(path + body)
  if (known !== undefined) return known
  const schema = schemas.get(path)
  if (schema === undefined) throw new Error(`there is no subgraph at ${path}`)
  const { query, variables, operationName } = JSON.parse(body) as Body
  const result = await execute({ schema, document: parse(query), variableValues: variables ?? {}, operationName: operationName ?? null })
  if (result.errors !== undefined) throw new Error(`${path}: ${result.errors.join('\n')}`)
  const bytes = Buffer.from(JSON.stringify(result))
  canned.set(path + body, bytes)
  return bytes
}

function changed(bytes: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, -1), Buffer.from(`,"extensions":{"call":"${String(calls).padStart(12, '0')}"}}`)])
}

async function respond(path: string, body: string, response: ServerResponse): Promise<void> {
  const changing = path.startsWith(CHANGING)
  const same = await answerTo(changing ? path.slice(CHANGING.length) : path, body)
  const bytes = changing ? changed(same) : same
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length }).end(bytes)
}

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const { url: path = '' } = request
  if (path === '/calls') return void response.end(String(calls))
  calls += 1
  let body = ''
  request.setEncoding('utf8')
  request.on('data', (chunk: string) => (body += chunk))
  request.on('end', () => {
    respond(path, body, response).catch((error: unknown) => {
      console.error(error)
      response.writeHead(500).end()
    })
  })
})
server.listen(Number(process.argv[2]), '127.0.0.1', () => console.log('ready'))
process.on('disconnect', () => process.exit())
