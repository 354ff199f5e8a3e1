/** docs/gateway/your-router.md shows the configurations that `npm run bench -- routers` runs. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')
const FILES = join(ROOT, 'bench', 'gateway', 'peers', 'routers')
const page = readFileSync(join(ROOT, 'docs', 'gateway', 'your-router.md'), 'utf8')
const [, afterComposition = ''] = page.split("## The viewer's identity")
const blocks = [...afterComposition.matchAll(/```(?:js|yaml)\n([\s\S]*?)```/g)].map(([, text = '']) => text)
const files = readdirSync(FILES).map((name) => readFileSync(join(FILES, name), 'utf8'))

test('each configuration on the page is the text of a file that the benchmark runs', () => {
  expect(blocks).toHaveLength(7)
  for (const block of blocks)
    expect(
      files.filter((text) => text.includes(block)),
      block,
    ).not.toEqual([])
})
