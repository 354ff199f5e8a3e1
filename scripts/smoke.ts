/**
 * The first minutes of a new user: clones the committed state into a folder with another name, runs `npm start`, and then the
 * README's first commands as printed. Fails if the service does not start, an answer differs, or the service does not end cleanly.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const START_MAX_MS = 3_000
const home = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'a-new-user-'))
const clone = join(folder, 'clone-of-another-name')

try {
  execFileSync('git', ['clone', '--quiet', home, clone], { stdio: 'inherit' })
  const begun = performance.now()
  execFileSync('npm', ['ci'], { cwd: clone, stdio: 'ignore' })
  console.log(`npm ci took ${((performance.now() - begun) / 1_000).toFixed(1)} s`)
  await runCommands(clone)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function runCommands(cwd: string): Promise<void> {
  const port = await freePort()
  const begun = performance.now()
  const service = spawn('npm', ['start', '--silent'], {
    cwd,
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    await once(service.stdout, 'data')
    const tookMs = performance.now() - begun
    console.log(`npm start was ready after ${Math.round(tookMs)} ms`)
    if (tookMs > START_MAX_MS) throw new Error(`npm start took ${Math.round(tookMs)} ms; at most ${START_MAX_MS} ms are promised`)
    for (const { command, expected } of readmeExamples(readFileSync(join(cwd, 'README.md'), 'utf8'))) {
      const actual = execFileSync('bash', ['-c', command.replaceAll('localhost:4000', `localhost:${port}`)], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      if (actual.trim() !== expected.trim())
        throw new Error(`the README prints\n${expected}\nfor\n${command}\nbut the answer is\n${actual}`)
    }
    const page = await fetch(`http://localhost:${port}/graphql`, { headers: { accept: 'text/html' } })
    if (!(await page.text()).includes('GraphiQL')) throw new Error('GraphiQL is not served')
  } finally {
    service.kill('SIGTERM')
  }
  const [status] = (await once(service, 'exit')) as [number | null]
  if (status !== 0 && status !== null && status !== 143) throw new Error(`npm start ended with status ${status}`)
  console.log('the README works as printed')
}

/** Each fenced command of the README that is followed by a fenced answer. */
function readmeExamples(readme: string): { command: string; expected: string }[] {
  const examples = [...readme.matchAll(/```(?:sh)?\n(curl [^`]+)```\n```json\n([^`]+)```/g)]
  if (examples.length === 0) throw new Error('README.md has no commands with answers')
  return examples.map(([, command, expected]) => ({ command: command as string, expected: expected as string }))
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no free port')
  return address.port
}
