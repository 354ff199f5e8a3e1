/** Memcached from Debian's package: one process. It has no data on disk, so it starts empty. */
import { mkdirSync } from 'node:fs'
import { userInfo } from 'node:os'
import { ask } from './ask.ts'
import { ensurePrograms, findProgram } from './packages.ts'
import { launch, stopProcess } from './processes.ts'
import type { Server } from './server.ts'

const STOP_MS = 5_000

/** Of several `settings` with the same name, the last one wins. */
export function makeMemcached(folder: string, port: number, settings: readonly string[] = []): Server {
  return {
    name: 'memcached',
    address: `127.0.0.1:${port}`,
    listeners: [{ port, folder }],
    install: () => ensurePrograms('memcached', ['memcached'], ['memcached']),
    async start() {
      mkdirSync(folder, { recursive: true })
      const args = [
        '--listen=127.0.0.1',
        `--port=${port}`,
        `--user=${userInfo().username}`,
        '--memory-limit=64',
        '--threads=1',
        ...settings,
      ]
      launch({ program: findProgram('memcached') as string, args, folder })
    },
    answers: async () => (await ask(port, 'version\r\n', (bytes) => bytes.includes('\r\n')))?.toString().startsWith('VERSION ') === true,
    stop: () => stopProcess(folder, STOP_MS),
  }
}
