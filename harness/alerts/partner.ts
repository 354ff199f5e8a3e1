/**
 * The example of a partner's subgraph in its own process, and the supergraph.yaml that lists it. Its address stays the same after a kill.
 * Its schema file is a copy, so a fault may damage it.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePorts } from '../deployment/ports.ts'

const EXAMPLE = join(import.meta.dirname, '..', '..', 'examples', 'partner-subgraph')

export type Partner = {
  /** The path of the supergraph.yaml. */
  supergraph: string
  start(): Promise<void>
  kill(): Promise<void>
  /** Truncates the schema file, like a failed deployment of the partner. */
  damageSchema(): void
  restoreSchema(): void
  remove(): Promise<void>
}

/** Resolves when the subgraph runs. */
export async function startPartner(): Promise<Partner> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-partner-'))
  const [port] = (await freePorts(1)) as [number]
  const supergraph = join(folder, 'supergraph.yaml')
  const schema = join(folder, 'schema.graphql')
  let child: ChildProcess | undefined
  const restoreSchema = (): void => copyFileSync(join(EXAMPLE, 'schema.graphql'), schema)
  const killAtExit = (): void => void child?.kill('SIGKILL')
  process.once('exit', killAtExit)

  async function start(): Promise<void> {
    const started = spawn(process.execPath, ['server.js'], {
      cwd: EXAMPLE,
      env: { ...process.env, PORT: String(port) },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    child = started
    const ended = once(started, 'exit').then(() => {
      throw new Error(`the partner's subgraph does not start on port ${port}`)
    })
    await Promise.race([once(started.stdout, 'data'), ended])
  }

  async function kill(): Promise<void> {
    const ending = child
    child = undefined
    if (ending === undefined) return
    const gone = once(ending, 'exit')
    ending.kill('SIGKILL')
    await gone
  }

  restoreSchema()
  const subgraphs = { catalog: { routing_url: `http://127.0.0.1:${port}/`, schema: { file: 'schema.graphql' } } }
  writeFileSync(supergraph, JSON.stringify({ subgraphs }))
  await start()
  return {
    supergraph,
    start,
    kill,
    damageSchema: () => writeFileSync(schema, 'type Query {'),
    restoreSchema,
    async remove() {
      await kill()
      process.off('exit', killAtExit)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
