import { beforeEach, expect, test } from 'vitest'
import { plantedRepository } from './planted.ts'

const { plant, script } = plantedRepository()

beforeEach(() => {
  plant('package.json', JSON.stringify({ name: 'planted', version: '1.0.0', files: ['README.md', 'docs/guide.md'] }))
  plant('docs/guide.md', '# Guide\n\n## Limits, and `how` they work\n\n## Limits\n\n## Limits\n')
})

test('links to existing files, folders and headings pass, and so do examples in code', () => {
  plant(
    'README.md',
    [
      '# Planted',
      '[guide](docs/guide.md#limits-and-how-they-work), [second](docs/guide.md#limits-1), [folder](docs/), [here](#planted), [far](https://example.com/none)',
      'in code `[x](none.md)` and',
      '```',
      '[x](none.md)',
      '```',
    ].join('\n'),
  )
  expect(script('links')).toEqual({ status: 0, findings: [], printed: [] })
})

test('a planted link to a missing file or heading fails, with document and line', () => {
  plant('README.md', '# Planted\n\n[file](none.md) [heading](docs/guide.md#none)\n\n[text]: ../outside.md\n')
  const { status, findings } = script('links')
  expect(status).toBe(1)
  expect(findings.filter((line) => !line.endsWith('in the npm package'))).toEqual([
    'README.md:3: the link to none.md is dead: none.md is not there',
    'README.md:3: the link to docs/guide.md#none is dead: docs/guide.md has no heading for #none',
    'README.md:5: the link to ../outside.md is dead: ../outside.md is not there',
  ])
})

test('a dead link fails in a page of docs/, in a template of .github/ and in a new file that git does not track yet', () => {
  plant('docs/start/web.md', '[next](mobile.md)\n')
  plant('.github/pull_request_template.md', '[rules](../CONTRIBUTING.md)\n')
  const { status, findings } = script('links')
  expect(status).toBe(1)
  expect(findings).toEqual([
    '.github/pull_request_template.md:1: the link to ../CONTRIBUTING.md is dead: CONTRIBUTING.md is not there',
    'docs/start/web.md:1: the link to mobile.md is dead: docs/start/mobile.md is not there',
  ])
})

test('a link from a packed document to a file that the package leaves out fails', () => {
  plant('README.md', '[code](config/config.ts)\n')
  plant('config/config.ts', '')
  expect(script('links')).toMatchObject({
    status: 1,
    findings: ['README.md:1: the link to config/config.ts is dead: config/config.ts is not there in the npm package'],
  })
})
