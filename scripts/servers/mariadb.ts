/**
 * MariaDB from Debian's packages: root without a password on a socket, and the user tidemark (password tidemark) on TCP,
 * who may do everything in databases whose names begin with tidemark, and read the binary log. With the default
 * `innodb_flush_log_at_trx_commit=1`, so what was committed survives any kill.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { ask } from './ask.ts'
import { ensurePrograms, findProgram, run } from './packages.ts'
import { launch, stopProcess } from './processes.ts'
import type { Server } from './server.ts'

const STOP_MS = 20_000
/** unix(7): the path of a socket has at most 107 bytes. */
const SOCKET_PATH_BYTES_MAX = 107

const USERS = `
CREATE DATABASE IF NOT EXISTS tidemark CHARACTER SET utf8mb4;
CREATE USER IF NOT EXISTS 'tidemark'@'127.0.0.1' IDENTIFIED BY 'tidemark';
CREATE USER IF NOT EXISTS 'tidemark'@'localhost' IDENTIFIED BY 'tidemark';
GRANT ALL PRIVILEGES ON \`tidemark%\`.* TO 'tidemark'@'127.0.0.1';
GRANT ALL PRIVILEGES ON \`tidemark%\`.* TO 'tidemark'@'localhost';
GRANT REPLICATION SLAVE, BINLOG MONITOR ON *.* TO 'tidemark'@'127.0.0.1';
GRANT REPLICATION SLAVE, BINLOG MONITOR ON *.* TO 'tidemark'@'localhost';
`

/** Where root may connect without a password. */
export function mariadbSocket(folder: string): string {
  const beside = join(folder, 'mariadb.sock')
  if (Buffer.byteLength(beside) <= SOCKET_PATH_BYTES_MAX) return beside
  return join(tmpdir(), `tidemark-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}.sock`)
}

/**
 * Whole rows with their columns' names, for the change feed. The system writes the files out when it likes: a killed server
 * loses nothing by that, only a machine that loses its power does. Files go after an hour.
 */
const BINLOG = [
  '--log-bin=binlog',
  '--binlog-format=ROW',
  '--binlog-row-metadata=FULL',
  '--server-id=1',
  '--sync-binlog=0',
  '--max-binlog-size=32M',
  '--binlog-expire-logs-seconds=3600',
]

const INSTALL_TRIES_MAX = 3

export function makeMariadb(folder: string, port: number, settings: readonly string[] = []): Server {
  return {
    name: 'mariadb',
    address: `mysql://tidemark:tidemark@127.0.0.1:${port}/tidemark`,
    listeners: [{ port, folder }],
    install: () =>
      ensurePrograms('mariadb', ['mariadbd', 'mariadb-install-db', 'my_print_defaults'], ['mariadb-server-core', 'mariadb-client-core']),
    async start() {
      mkdirSync(folder, { recursive: true })
      await createDataFolder(folder)
      writeFileSync(join(folder, 'users.sql'), USERS)
      launch({ program: findProgram('mariadbd') as string, args: [...argsOf(folder, port), ...settings], folder })
    },
    // The server speaks first: a packet's header of four bytes, then version 10 of the protocol; an error begins with 255.
    answers: async () => (await ask(port, '', (bytes) => bytes.length > 4))?.[4] === 10,
    stop: () => stopProcess(folder, STOP_MS),
  }
}

function argsOf(folder: string, port: number): string[] {
  return [
    '--no-defaults',
    `--datadir=${join(folder, 'data')}`,
    `--port=${port}`,
    '--bind-address=127.0.0.1',
    `--socket=${mariadbSocket(folder)}`,
    `--pid-file=${join(folder, 'mariadbd.pid')}`,
    `--init-file=${join(folder, 'users.sql')}`,
    `--user=${userInfo().username}`,
    '--character-set-server=utf8mb4',
    ...BINLOG,
    '--innodb-buffer-pool-size=256M',
    '--max-connections=300',
  ]
}

/**
 * In a folder beside, then renamed: one that was cut off half way is never taken for whole. The script does not quote
 * its paths, so it gets one without the folder's own name, which may have spaces.
 */
async function createDataFolder(folder: string): Promise<void> {
  const data = join(folder, 'data')
  if (existsSync(data)) return
  const partial = join(folder, 'data.partial')
  const args = [
    '--no-defaults',
    '--datadir=./data.partial',
    `--user=${userInfo().username}`,
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
    // Kernels bound asynchronous requests for all processes together; several servers at once may meet that bound.
    '--innodb-use-native-aio=0',
  ]
  for (let tries = 1; ; tries += 1) {
    rmSync(partial, { recursive: true, force: true })
    try {
      await run(findProgram('mariadb-install-db') as string, args, 'mariadb-install-db could not create the data folder', folder)
      return renameSync(partial, data)
    } catch (error) {
      // It has been seen to fail where many processes began at the same moment, and to succeed right after.
      if (tries === INSTALL_TRIES_MAX) throw error
    }
  }
}
