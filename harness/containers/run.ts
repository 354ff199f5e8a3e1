/**
 * Runs the containers of the deployment files as processes: the command line, the environment and the mounted files are theirs. Names of
 * other containers become addresses of this machine, and paths become paths in a temporary folder. They see no other variable.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Container } from './container.ts'
import type { Image } from './image.ts'

export type Place = {
  /** The built image. */
  image: Image
  imageFolder: string
  /** For the files of containers. */
  folder: string
  /** Addresses of this machine by those of the files, such as `redis:6379`. */
  addresses: Readonly<Record<string, string>>
}

export type RunningContainer = {
  name: string
  url: string
  /** Resolves when the container's own check finds it healthy. Rejects if it ends before, or when it never is. */
  healthy(): Promise<void>
  /** Resolves to the exit status. */
  ended: Promise<number | null>
  output(): string
  /** As `docker stop`. Resolves to the exit status. */
  stop(): Promise<number | null>
  kill(): void
}

/** Longer than a start takes on a loaded machine. */
const HEALTHY_MAX_MS = 150_000
const ASK_AGAIN_MS = 1_000

const alive = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL')
})

/** `name`: of the process, if a container runs several times. */
export function runContainer(container: Container, place: Place, port: number, name = container.name): RunningContainer {
  const folder = join(place.folder, name)
  const data = join(folder, 'data')
  mkdirSync(folder, { recursive: true })
  const mounted = Object.entries(container.files).map(([path, text]) => {
    const file = join(folder, basename(path))
    writeFileSync(file, placed(text, place.addresses))
    return [path, file] as const
  })
  const paths = {
    '/data': data,
    '/var/lib/tidemark': data,
    '/var/cache/tidemark': join(place.imageFolder, 'compile-cache'),
    [`${place.image.folder}/`]: `${place.imageFolder}/`,
  }
  const here = (text: string): string => placed(text, { ...place.addresses, ...paths, ...Object.fromEntries(mounted) })
  const environment = { ...place.image.environment, ...container.environment, HOST: '127.0.0.1', PORT: String(port) }
  const env = Object.fromEntries(Object.entries(environment).map(([key, value]) => [key, here(value)]))
  const [program = '', ...entrypoint] = place.image.entrypoint
  const child = spawn(programOf(program), [...entrypoint, ...container.args], {
    cwd: place.imageFolder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return {
    name,
    url: `http://127.0.0.1:${port}`,
    ...watch(child, join(folder, 'output.log')),
    healthy: () => untilHealthy(child, container, port, env, name, folder),
  }
}

/** The image has the Node that runs this. */
export function programOf(name: string): string {
  return name === 'node' ? process.execPath : name
}

export function placed(text: string, places: Readonly<Record<string, string>>): string {
  return Object.entries(places).reduce((result, [from, to]) => result.replaceAll(from, to), text)
}

/** Writes the output to a file. The process ends with this one. */
export function watch(child: ChildProcess, log: string): Pick<RunningContainer, 'ended' | 'output' | 'stop' | 'kill'> {
  writeFileSync(log, '')
  const out = createWriteStream(log, { flags: 'a' })
  child.stdout?.pipe(out, { end: false })
  child.stderr?.pipe(out, { end: false })
  alive.add(child)
  const ended = once(child, 'exit').then(([status]: (number | null)[]) => {
    alive.delete(child)
    return status ?? null
  })
  return {
    ended,
    output: () => readFileSync(log, 'utf8'),
    async stop() {
      child.kill('SIGTERM')
      return ended
    },
    kill: () => void child.kill('SIGKILL'),
  }
}

async function untilHealthy(
  child: ChildProcess,
  container: Container,
  port: number,
  env: NodeJS.ProcessEnv,
  name: string,
  folder: string,
): Promise<void> {
  for (const end = Date.now() + HEALTHY_MAX_MS; !(await isHealthy(container, port, env)); await sleep(ASK_AGAIN_MS)) {
    if (child.exitCode === null && child.signalCode === null && Date.now() < end) continue
    throw new Error(`${name} is not healthy; its last words:\n${readFileSync(join(folder, 'output.log'), 'utf8').slice(-2_000)}`)
  }
}

async function isHealthy({ health }: Container, port: number, env: NodeJS.ProcessEnv): Promise<boolean> {
  if (health.kind === 'none') return true
  if (health.kind === 'command') {
    const [program = '', ...args] = health.command
    return new Promise((resolve) => execFile(programOf(program), args, { env }, (error) => resolve(error === null)))
  }
  const answers = await Promise.all(
    health.paths.map((path) =>
      fetch(`http://127.0.0.1:${port}${path}`).then(
        ({ ok }) => ok,
        () => false,
      ),
    ),
  )
  return answers.every(Boolean)
}
