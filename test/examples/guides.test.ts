/** The TypeScript of the client guides is that of the examples, which run against a real server in clients.long.test.ts. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')
const GUIDES = join(ROOT, 'docs', 'clients')
const PROGRAMS = [
  ...['apollo', 'codegen', 'live', 'operations', 'persisted', 'relay', 'typed', 'urql', 'relay/operations'].map(
    (name) => `clients/${name}.ts`,
  ),
  'player-sdk/player.ts',
].map((file) => linesOf(readFileSync(join(ROOT, 'examples', file), 'utf8')))

/** Without indentation, and without the stars of a comment. */
function linesOf(text: string): string {
  const lines = text.split('\n').map((line) => line.trim().replace(/^\* +/, ''))
  return `\n${lines.filter((line) => line !== '').join('\n')}\n`
}

test.each(readdirSync(GUIDES).filter((page) => page !== 'index.md'))('each block of %s is part of a program', (page) => {
  const blocks = Array.from(readFileSync(join(GUIDES, page), 'utf8').matchAll(/^```ts\n(.*?)^```$/gms), ([, block = '']) => block)
  expect(blocks.length).toBeGreaterThan(0)
  for (const block of blocks) {
    expect(
      PROGRAMS.some((program) => program.includes(linesOf(block))),
      block,
    ).toBe(true)
  }
})

test('the configurations of Relay are those of the example', () => {
  const page = readFileSync(join(GUIDES, 'relay.md'), 'utf8')
  const [, config = ''] = /^```json\n(.*?)^```$/ms.exec(page) ?? []
  expect(JSON.parse(config)).toEqual(JSON.parse(readFileSync(join(ROOT, 'examples/clients/relay.config.json'), 'utf8')))
  const [, persisted = ''] = /^("persistConfig".*)$/m.exec(readFileSync(join(GUIDES, 'persisted.md'), 'utf8')) ?? []
  const example = JSON.parse(readFileSync(join(ROOT, 'examples/clients/relay.persisted.config.json'), 'utf8'))
  expect(JSON.parse(`{${persisted}}`).persistConfig).toEqual(example.persistConfig)
})
