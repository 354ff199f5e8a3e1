/** The proxy of network faults keeps the order of a stream. */
import { connect, createServer, type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { makeTcpProxy } from '../../harness/faults/tcp-proxy.ts'

test('an answer does not pass late answers after the network is fast again', async () => {
  let echoed = 0
  const echo = createServer((socket) => socket.on('data', (chunk) => socket.write(chunk, () => void echoed++)))
  await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve))
  const proxy = await makeTcpProxy((echo.address() as AddressInfo).port)
  const client = connect(proxy.port, '127.0.0.1')
  let received = ''
  client.setEncoding('utf8').on('data', (text: string) => void (received += text))
  try {
    proxy.slow(1_000)
    client.write('first ')
    await expect.poll(() => proxy.sent()).toBe(1)
    await expect.poll(() => echoed).toBe(1)
    // The bytes of the echo are in the kernel. All ends are in this process, so the proxy reads them within a few turns and holds them back.
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    proxy.slow(0)
    client.write('second')
    await expect.poll(() => received).toBe('first second')
  } finally {
    client.destroy()
    await proxy.close()
    echo.close()
  }
})
