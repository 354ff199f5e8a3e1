/** Sockets that fail more than once. */
import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { makeClient } from '../../../stores/redis/clients.ts'
import { SteadyConnector } from '../../../stores/redis/connector.ts'

describe('a connection to Redis', () => {
  it('survives a second error of its socket, for example when a server complains about a refused certificate', async () => {
    const server = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const connector = new SteadyConnector({ host: '127.0.0.1', port })
    const stream = await connector.connect()
    await once(stream, 'connect')
    const heard: unknown[] = []
    stream.once('error', (error) => heard.push(error))
    stream.emit('error', new Error('the certificate is not trusted'))
    stream.emit('error', new Error('alert decode error'))
    expect(heard).toHaveLength(1)
    expect(connector.firstError?.message).toBe('the certificate is not trusted')
    stream.destroy()
    server.close()
    await once(server, 'close')
  })

  it.each([
    ['a single server', ['redis://127.0.0.1:1']],
    ['a Cluster', ['redis://127.0.0.1:1', 'redis://127.0.0.1:2']],
  ])('is made by the connector that keeps listening, for %s', (_, urls) => {
    const client = makeClient({ urls })
    client.on('error', () => {})
    const { options } = client as { options: { Connector?: unknown; redisOptions?: { Connector?: unknown } } }
    expect(options.redisOptions?.Connector ?? options.Connector).toBe(SteadyConnector)
    client.disconnect()
  })
})
