import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { makeConfig } from '../../../config/config.ts'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { composerFor, storedForm } from '../../../gateway/supergraph/composer.ts'
import { ourSubgraphs } from '../../../subgraphs/catalog.ts'

const BUSINESS = { number: 1, name: 'video', entity: 'Video' }
const OURS = ourSubgraphs(makeConfig([]))

test('the stored graph is that of the default configuration, so a process with it does not load the composer', async () => {
  const compose = await composerFor(OURS)
  expect(compose).not.toBe(composeSupergraph)
  expect(compose(OURS)).toBe(composeSupergraph(OURS))
})

test('the stored graph is not used for other subgraphs, another address, or a file that is not there', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-composer-'))
  const file = pathToFileURL(join(folder, 'supergraph.graphql'))
  try {
    expect(await composerFor(OURS, file)).toBe(composeSupergraph)
    writeFileSync(file, storedForm(OURS, 'stored'))
    expect((await composerFor(OURS, file))(OURS)).toBe('stored')
    const others = ourSubgraphs(makeConfig([{ name: 'test', values: { businesses: [BUSINESS] } }]))
    expect(await composerFor(others, file)).toBe(composeSupergraph)
    expect(await composerFor(OURS.slice(1), file)).toBe(composeSupergraph)
    expect(
      await composerFor(
        OURS.map((each) => ({ ...each, url: 'http://127.0.0.1:1' })),
        file,
      ),
    ).toBe(composeSupergraph)
    expect(readFileSync(file, 'utf8')).toContain('never edited')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
