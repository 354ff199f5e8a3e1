/** The image: with the folders that the Dockerfile copies and without development packages, the enabled pages are served. */
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { makeServiceFolder, startService } from '../../harness/deployment/service.ts'

const ROOT = join(import.meta.dirname, '..', '..')

/** The files of the image, as `npm ci --omit=dev` and COPY put them there. */
function makeImage(folder: string): void {
  const copied = [...readFileSync(join(ROOT, 'Dockerfile'), 'utf8').matchAll(/^COPY (\S+) \.\/\S+$/gm)].map(([, from]) => from as string)
  for (const from of copied)
    cpSync(join(ROOT, from), join(folder, from), { recursive: true, filter: (path) => !path.includes('node_modules') })
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as { packages: Record<string, { dev?: boolean }> }
  for (const [place, { dev }] of Object.entries(packages)) {
    if (dev === true || !/^node_modules\/(@[^/]+\/)?[^/]+$/.test(place)) continue
    mkdirSync(dirname(join(folder, place)), { recursive: true })
    symlinkSync(join(ROOT, place), join(folder, place))
  }
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
}

test('the image serves the pages that are enabled, with all of their files', async () => {
  const { folder, remove } = makeServiceFolder()
  makeImage(folder)
  const service = await startService({
    folder,
    program: join(folder, 'cli', 'tidemark.ts'),
    settings: { server: { mode: 'production', pages: ['home', 'demo', 'console'] }, auth: { secret: '0123456789abcdef0123456789abcdef' } },
  })
  const { origin } = new URL(service.url)
  const seen = new Set<string>()
  /** Asks for the file, and for all files that it names. */
  async function follow(path: string): Promise<void> {
    if (seen.has(path)) return
    seen.add(path)
    const response = await fetch(`${origin}${path}`)
    expect([path, response.status]).toEqual([path, 200])
    const text = await response.text()
    const named = [...text.matchAll(/(?:src|href)="(\/pages\/[^"]+)"|from '(\.{1,2}\/[^']+)'|"(\/pages\/library\/[^"]+)"/g)]
    for (const [, absolute, relative, library] of named)
      await follow(absolute ?? library ?? new URL(relative as string, `${origin}${path}`).pathname)
  }
  try {
    for (const page of ['/', '/demo', '/console']) await follow(page)
    expect([...seen]).toEqual(expect.arrayContaining(['/pages/console/chart.ts', '/examples/player-sdk/player.ts']))
  } finally {
    await service.stop()
    remove()
  }
})
