/**
 * Rejects a used port before the process opens its stores. A job that joins its consumer group first and then fails to listen makes Kafka
 * move partitions away from healthy jobs at every restart.
 */
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Config } from '../../config/config.ts'
import { listenErrorOf, type ListenSection } from '../../gateway/doors/listen-error.ts'

/** Rejects with CONFIG_INVALID if nothing can listen on this address. */
export async function requireFreePort({ host, port }: Pick<Config['server'], 'host' | 'port'>, section?: ListenSection): Promise<void> {
  const server = createServer()
  try {
    server.listen(port, host)
    await once(server, 'listening')
  } catch (error) {
    throw listenErrorOf(error, { host, port }, section)
  }
  server.close()
  await once(server, 'close')
}
