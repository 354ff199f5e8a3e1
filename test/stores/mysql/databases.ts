/** A separate database on the server of `scripts/services`, and separate servers for tests that kill them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../../core/clock.ts'
import { makeMariadb, mariadbSocket } from '../../../scripts/servers/mariadb.ts'
import { hasEnded, lastOutput, runningPid } from '../../../scripts/servers/processes.ts'
import { type Database, openDatabase } from '../../../stores/mysql/database.ts'
import { migrateMysql } from '../../../stores/mysql/schema-version.ts'
import { service } from '../../../harness/deployment/services.ts'
import { freePorts } from '../../../harness/deployment/ports.ts'

/** The url of the database of the server, or undefined if MariaDB is not available. */
export const mariadb = await service('mariadb')

export type TestDatabase = { url: string; database: Database; drop(): Promise<void> }

/** An empty database with a unique name, and a connection to it. */
export async function makeDatabase(server = mariadb): Promise<TestDatabase> {
  if (server === undefined) throw new Error('MariaDB cannot be had')
  const name = `tidemark_test_${process.pid}_${Math.random().toString(36).slice(2, 10)}`
  const administrator = openDatabase(systemClock, { url: server, connectionsMax: 1 })
  await administrator.send(`CREATE DATABASE ${name}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  const database = openDatabase(systemClock, { url: url.href, connectionsMax: 2 })
  return {
    url: url.href,
    database,
    async drop() {
      await database.close()
      await administrator.send(`DROP DATABASE ${name}`)
      await administrator.close()
    },
  }
}

export type OwnServer = {
  url: string
  /** The socket on which root may connect without a password. */
  socket: string
  start(): Promise<void>
  /** kill -9 */
  kill(): Promise<void>
  /** Stops answering until `resume`. */
  pause(): void
  resume(): void
  remove(): Promise<void>
}

/** Starts it, with the current schema. */
export async function startMigrated(server: OwnServer): Promise<void> {
  await server.start()
  const administrator = openDatabase(systemClock, { url: server.url })
  await migrateMysql(administrator)
  await administrator.close()
}

export async function makeServer(settings: readonly string[] = []): Promise<OwnServer> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-mariadb-'))
  const [port = 0] = await freePorts(1)
  const server = makeMariadb(folder, port, settings)
  const signal = (name: NodeJS.Signals) => {
    const pid = runningPid(folder)
    if (pid !== undefined) process.kill(pid, name)
  }
  return {
    url: server.address,
    socket: mariadbSocket(folder),
    async start() {
      await server.start()
      for (const deadline = Date.now() + 30_000; !(await server.answers()); await sleep(20)) {
        if (Date.now() > deadline) throw new Error(`MariaDB did not start: ${lastOutput(folder, 20)}`)
      }
    },
    async kill() {
      signal('SIGKILL')
      while (!hasEnded(folder, port)) await sleep(5)
    },
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    async remove() {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
