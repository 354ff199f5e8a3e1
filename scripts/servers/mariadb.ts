/**
 * MariaDB from Debian's packages. Root connects through a socket, without a password. The user tidemark (password tidemark)
 * connects over TCP, has all rights on databases named tidemark…, and reads the binary log. The default
 * `innodb_flush_log_at_trx_commit=1` stays, so that a committed transaction survives any kill.
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

/** The socket on which root connects without a password. */
export function mariadbSocket(folder: string): string {
  const beside = join(folder, 'mariadb.sock')
  if (Buffer.byteLength(beside) <= SOCKET_PATH_BYTES_MAX) return beside
  return join(tmpdir(), `tidemark-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}.sock`)
}

/**
 * The binary log has whole rows with column names, for the change feed. The kernel decides when its files reach the disk: a
 * killed server loses nothing, a power cut may lose the end. Files are deleted after an hour.
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
    // The server sends the first packet: a header of four bytes, then the protocol's version 10. An error begins with 255.
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
 * The data folder is created under another name, then renamed: an interrupted creation is never used. The script does not
 * quote its paths. It therefore gets a relative path, because the name of the outer folder may contain spaces.
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
    // The kernel limits asynchronous requests of all processes together. Several servers at once may exceed the limit.
    '--innodb-use-native-aio=0',
  ]
  for (let tries = 1; ; tries += 1) {
    rmSync(partial, { recursive: true, force: true })
    try {
      await run(findProgram('mariadb-install-db') as string, args, 'mariadb-install-db could not create the data folder', folder)
      return renameSync(partial, data)
    } catch (error) {
      // It sometimes fails while many processes start at once, and succeeds right after.
      if (tries === INSTALL_TRIES_MAX) throw error
    }
  }
}
