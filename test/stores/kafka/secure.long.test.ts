import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import type { KafkaConnection } from '../../../stores/kafka/client.ts'
import { openKafkaLog } from '../../../writeback/stores/kafka/log.ts'
import { migrateKafka } from '../../../stores/kafka/topics.ts'
import { service } from '../../../harness/deployment/services.ts'
import { makeBroker } from './broker.ts'
import { makeLogger } from './setup.ts'
import { until } from '../../../harness/until.ts'
import { freePorts } from '../../../harness/deployment/ports.ts'

const address = await service('kafka')
const PASSWORD = 'a-secret-of-this-test'

describe.skipIf(address === undefined)('Kafka with TLS and credentials', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-tls-'))
  const logger = makeLogger()
  let broker: Awaited<ReturnType<typeof makeBroker>>
  let brokers: string[] = []
  let ca = ''
  beforeAll(async () => {
    const [key, certificate, both] = [join(folder, 'key.pem'), join(folder, 'cert.pem'), join(folder, 'both.pem')]
    const wish = [
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=localhost',
      '-addext',
      'subjectAltName=DNS:localhost,IP:127.0.0.1',
    ]
    execFileSync('openssl', ['req', ...wish, '-keyout', key, '-out', certificate], { stdio: 'ignore' })
    execFileSync('sh', ['-c', 'cat "$1" "$2" > "$3"', 'sh', key, certificate, both])
    ca = readFileSync(certificate, 'utf8')
    const [open = 0, secure = 0, controller = 0] = await freePorts(3)
    brokers = [`localhost:${secure}`]
    broker = await makeBroker(
      [
        `listeners=CLIENT://127.0.0.1:${open},SECURE://127.0.0.1:${secure},CONTROLLER://127.0.0.1:${controller}`,
        `advertised.listeners=CLIENT://127.0.0.1:${open},SECURE://localhost:${secure}`,
        'listener.security.protocol.map=CLIENT:PLAINTEXT,SECURE:SASL_SSL,CONTROLLER:PLAINTEXT',
        'sasl.enabled.mechanisms=PLAIN',
        `listener.name.secure.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_tidemark="${PASSWORD}";`,
        'ssl.keystore.type=PEM',
        `ssl.keystore.location=${both}`,
      ],
      { port: open, controllerPort: controller },
    )
    await broker.start()
  })
  afterAll(async () => {
    await broker.dispose()
    rmSync(folder, { recursive: true, force: true })
  })

  const connectionOf = (more: Partial<KafkaConnection> = {}): KafkaConnection => ({
    brokers,
    tls: { ca },
    sasl: { mechanism: 'plain', username: 'tidemark', password: PASSWORD },
    ...more,
  })
  const openWith = (connection: KafkaConnection) => openKafkaLog({ connection, regions: 10 }, { clock: systemClock, logger })

  it('appends and consumes with both', async () => {
    await migrateKafka(connectionOf(), {}, logger)
    const log = await openWith(connectionOf())
    const taken: unknown[] = []
    const consumer = await log.consumeFlushes({ persist: async ({ messages }) => void taken.push(...messages) })
    await log.appendFlushes([{ region: 1, keys: [{ viewer: '1', business: 1, oid: '1' }] }])
    await until('the message', () => taken.length > 0)
    await consumer.stop()
    await log.close()
  })

  it('a wrong password stops the start and is reported as such, and no password is ever logged or thrown', async () => {
    const sasl = { mechanism: 'plain', username: 'tidemark', password: 'wrong-one' } as const
    const connection = connectionOf({ sasl })
    const error = await openKafkaLog({ connection, regions: 10, mayBeDown: true }, { clock: systemClock, logger }).then(
      () => undefined,
      (thrown: Error) => thrown,
    )
    expect(error).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('refused the credentials of user "tidemark"') })
    const said = JSON.stringify([error?.message, String(error?.cause), logger.entries])
    expect(said).not.toContain('wrong-one')
    expect(said).not.toContain(PASSWORD)
  })

  it('a certificate of an untrusted authority is refused', async () => {
    await expect(openWith(connectionOf({ tls: true }))).rejects.toMatchObject({
      code: 'LOG_UNAVAILABLE',
      message: expect.stringMatching(/certificate/),
    })
  })

  it('a client without TLS fails in time', async () => {
    await expect(openWith(connectionOf({ tls: false, requestMaxMs: 2_000 }))).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE' })
  })
})
