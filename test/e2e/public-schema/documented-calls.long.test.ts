/** Runs the calls of the documents, in their order, against a new service, and compares the answers that a document shows. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Kind, parse, validate } from 'graphql'
import { afterEach, describe, expect, test } from 'vitest'
import { makeConfig } from '../../../config/config.ts'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { makePlanner } from '../../../gateway/operation/planner.ts'
import { makeServiceFolder, startService } from '../../../harness/deployment/service.ts'
import { ourSubgraphs } from '../../../subgraphs/catalog.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const read = (page: string) => readFileSync(join(ROOT, page), 'utf8')

type Call = { readonly headers: Record<string, string>; readonly body: { query?: string }; readonly answer: string | undefined }

/** `curl … -d '{"query": …}'`, and the answer in the next block if the call ends its block. */
function callsOf(page: string): Call[] {
  const calls = read(page).matchAll(
    /^ *curl (?!-N)[^']*http:\/\/localhost:4000\/graphql ([^{]*) -d '(\{[^']*\})'\n(?: *```\n+ *```json\n *(.*)\n)?/gm,
  )
  return Array.from(calls, ([, flags = '', body = '', answer]) => ({
    headers: Object.fromEntries(Array.from(flags.matchAll(/-H '([^:]+): ([^']+)'/g), ([, name = '', value = '']) => [name, value])),
    body: JSON.parse(body.replaceAll('\n', ' ')) as Call['body'],
    answer,
  }))
}

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

describe('each call shows the real answer', () => {
  test.each([
    'README.md',
    'CONTRIBUTING.md',
    'docs/start/web.md',
    ...readdirSync(join(ROOT, 'docs/api')).map((page) => `docs/api/${page}`),
  ])('of %s', async (page) => {
    const { folder, remove } = makeServiceFolder()
    const service = await startService({ folder })
    ends.push(async () => {
      await service.stop()
      remove()
    })
    const calls = callsOf(page)
    expect(calls.length).toBeGreaterThan(0)
    const given = new Map<string, string>()
    for (const { headers, body, answer } of calls) {
      const response = await fetch(service.url, { method: 'POST', headers, body: replaced(JSON.stringify(body), given) })
      const text = shownAs(await response.text(), answer, given)
      if (answer === undefined) expect(JSON.parse(text), body.query).not.toHaveProperty('errors')
      else expect(withoutTimes(text), body.query).toBe(withoutTimes(answer))
    }
  })
})

test('the event stream of docs/start/web.md shows the event of the documented report', async () => {
  const { folder, remove } = makeServiceFolder()
  const service = await startService({ folder })
  ends.push(async () => {
    await service.stop()
    remove()
  })
  const [, flags = '', body = '', shown = ''] =
    /^curl -N http:\/\/localhost:4000\/graphql ([^{]*) -d '(\{[^']*\})'\n```\n.*?```\n(event: next\ndata: [^\n]*\n)```/ms.exec(
      read('docs/start/web.md'),
    ) ?? []
  const headers = Object.fromEntries(Array.from(flags.matchAll(/-H '([^:]+): ([^']+)'/g), ([, name = '', value = '']) => [name, value]))
  // The call was made before, so the day has begun. It is repeated, since the subscription may open after the first repetition.
  const [report] = callsOf('docs/start/web.md')
  const send = () => fetch(service.url, { method: 'POST', headers: report?.headers ?? {}, body: JSON.stringify(report?.body) })
  await (await send()).text()
  const leaving = new AbortController()
  const stream = await fetch(service.url, { method: 'POST', headers, body, signal: leaving.signal })
  expect(stream.status).toBe(200)
  const reporting = setInterval(() => void send(), 200)
  try {
    let text = ''
    for await (const part of stream.body!.pipeThrough(new TextDecoderStream())) if ((text += part).includes('\n\n')) break
    expect(withoutTimes(text.slice(0, text.indexOf('\n\n') + 2))).toBe(withoutTimes(`${shown}\n`))
  } finally {
    clearInterval(reporting)
    leaving.abort()
  }
})

/** Ids of posts and cursors: the server chooses them, and later calls send them. */
const CHOSEN = /"(id|endCursor)":"(\d{15,}|[\w-]{16,})"/g

/** The text with the ids and cursors of the page in place of the real ones, which `given` gets by those of the page. */
function shownAs(text: string, shown: string | undefined, given: Map<string, string>): string {
  const documented = Array.from(shown?.matchAll(CHOSEN) ?? [], ([, , value = '']) => value)
  const real = Array.from(text.matchAll(CHOSEN), ([, , value = '']) => value)
  for (const [at, value] of documented.entries()) if (!given.has(value)) given.set(value, real[at] ?? value)
  return replaced(text, new Map(Array.from(given, ([value, own]) => [own, value])))
}

function replaced(text: string, by: ReadonlyMap<string, string>): string {
  return Array.from(by).reduce((result, [from, to]) => result.replaceAll(from, to), text)
}

/** Times, tokens and cursors differ in every run. */
function withoutTimes(text: string): string {
  return text
    .replace(/\b1[5-9]\d{11}\b/g, '(time)')
    .replace(/"(dayToken|token|cursor|startCursor|endCursor)":"[^"]*"/g, '"$1":"…"')
    .replace(/20\d\d-\d\d(-\d\d)?/g, '(date)')
}

test('each operation of the pages that need more than one server is valid', () => {
  const partner = read('examples/partner-subgraph/schema.graphql')
  const { schema } = makePlanner(composeSupergraph([...ourSubgraphs(makeConfig([])), { name: 'catalog', sdl: partner }]))
  const pages = ['docs/start/partner.md', 'docs/start/mobile.md', 'examples/partner-subgraph/README.md']
  const operations = [
    ...pages.flatMap((page) => callsOf(page).flatMap(({ body }) => body.query ?? [])),
    ...Array.from(read('docs/start/mobile.md').matchAll(/<<'END'\n((?:query|mutation)[^]*?)\nEND/g), ([, text = '']) => text),
    ...Array.from(read('docs/start/web.md').matchAll(/-d '\{"query": "(subscription [^"]*)"\}'/g), ([, text = '']) => text),
    ...Array.from(read('gateway/pages/graphiql.ts').matchAll(/`(# [^`]*)`/g), ([, text = '']) => text),
  ]
  expect(operations).toHaveLength(8 + 2 + 1 + 7)
  for (const operation of operations)
    expect(
      validate(schema, parse(operation)).map(({ message }) => message),
      operation,
    ).toEqual([])
  expect(operations.map((operation) => parse(operation).definitions[0]?.kind)).toContain(Kind.OPERATION_DEFINITION)
})
