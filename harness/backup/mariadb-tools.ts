/** MariaDB's own tools for backups, as root on the socket of a server: a dump, and the binary log up to a position. */
import { execFile, spawn } from 'node:child_process'
import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { ensurePrograms } from '../../scripts/servers/packages.ts'
import { mariadbSocket } from '../../scripts/servers/mariadb.ts'

/** A place in the binary log. */
export type Position = { file: string; position: number }

const DATABASE = 'tidemark'
const TOOLS = ['mariadb-dump', 'mariadb-binlog']
const run = promisify(execFile)

/** Installs missing tools. False if that is not possible and CI does not require them. */
export async function mariadbToolsAreHere(): Promise<boolean> {
  try {
    await ensurePrograms('backups', TOOLS, ['mariadb-client'])
    return true
  } catch (error) {
    if (process.env['CI'] === 'true' && process.platform === 'linux') throw error
    return false
  }
}

/** `folder`: of the server, as `makeMariadb` has it. */
export function mariadbTools(folder: string) {
  const socket = `--socket=${mariadbSocket(folder)}`
  const client = ['--no-defaults', socket, '--user=root', '--batch', '--skip-column-names']
  const sql = async (text: string): Promise<string> => (await run('mariadb', [...client, '--execute', text])).stdout

  /** Feeds the output of `from` to the client. */
  async function replay(from: Readable): Promise<void> {
    const child = spawn('mariadb', [...client, DATABASE], { stdio: ['pipe', 'ignore', 'pipe'] })
    let complaint = ''
    child.stderr.on('data', (chunk: Buffer) => (complaint += chunk.toString()))
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    await pipeline(from, child.stdin)
    const status = await ended
    if (status !== 0) throw new Error(`mariadb ended with status ${status}: ${complaint}`)
  }

  async function positionNow(): Promise<Position> {
    const [file, position] = (await sql('SHOW MASTER STATUS')).split('\t')
    return { file: file as string, position: Number(position) }
  }

  return {
    positionNow,

    /** Writes a dump of one moment, and returns the position of that moment. */
    async dump(file: string): Promise<Position> {
      const args = ['--no-defaults', socket, '--user=root', '--single-transaction', '--master-data=2', DATABASE]
      const child = spawn('mariadb-dump', args, { stdio: ['ignore', 'pipe', 'inherit'] })
      let head = ''
      child.stdout.on('data', (chunk: Buffer) => (head += head.length < 65_536 ? chunk.toString('latin1') : ''))
      await pipeline(child.stdout, createWriteStream(file))
      const [, name, position] = /MASTER_LOG_FILE='(.+?)', MASTER_LOG_POS=(\d+)/.exec(head) ?? []
      if (name === undefined) throw new Error('the dump has no position of the binary log')
      return { file: name, position: Number(position) }
    },

    async emptyDatabase(): Promise<void> {
      await sql(`DROP DATABASE ${DATABASE}; CREATE DATABASE ${DATABASE} CHARACTER SET utf8mb4`)
    },

    load: (file: string): Promise<void> => replay(createReadStream(file)),

    /** Applies the binary log between two positions of one file. */
    async applyLog(from: Position, to: Position): Promise<void> {
      if (from.file !== to.file) throw new Error(`the binary log has gone on to ${to.file}: name both files`)
      const log = join(folder, 'data', from.file)
      const range = [`--start-position=${from.position}`, `--stop-position=${to.position}`]
      const child = spawn('mariadb-binlog', ['--no-defaults', `--database=${DATABASE}`, ...range, log], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      await replay(child.stdout)
    },
  }
}
