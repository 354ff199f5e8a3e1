/** The proxy of network faults keeps the order of a stream. */
import { connect, createServer, type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { makeTcpProxy } from '../../harness/faults/tcp-proxy.ts'

test('an answer does not pass late answers after the network is fast again', async () => {
  const echo = createServer((socket) => void socket.pipe(socket))
  await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve))
  const proxy = await makeTcpProxy((echo.address() as AddressInfo).port)
  const client = connect(proxy.port, '127.0.0.1')
  let received = ''
  client.setEncoding('utf8').on('data', (text: string) => void (received += text))
  try {
    proxy.slow(300)
    client.write('first ')
    await expect.poll(() => proxy.sent()).toBe(1)
    // The echo of the first is on its way, late.
    await new Promise((resolve) => setTimeout(resolve, 100))
    proxy.slow(0)
    client.write('second')
    await expect.poll(() => received).toBe('first second')
  } finally {
    client.destroy()
    await proxy.close()
    echo.close()
  }
})
