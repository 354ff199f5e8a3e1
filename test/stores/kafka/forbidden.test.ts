/** Forbidden topics of a business do not stop a start. */
import { AclOperationTypes, AclPermissionTypes, AclResourceTypes, Kafka, logLevel, ResourcePatternTypes, type Admin } from 'kafkajs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { openKafkaLog, type KafkaLog } from '../../../writeback/stores/kafka/log.ts'
import { migrateKafka } from '../../../stores/kafka/topics.ts'
import { service } from '../../../harness/deployment/services.ts'
import { until } from '../../../harness/until.ts'
import { freePorts } from '../../../harness/deployment/ports.ts'
import { makeBroker } from './broker.ts'
import { makeLogger } from './setup.ts'

const address = await service('kafka')
const PASSWORD = 'a-secret-of-this-test'
const PATIENCE_MS = 180_000
const topicPrefix = 'own'

describe.skipIf(address === undefined)('a log with forbidden topics', { timeout: PATIENCE_MS }, () => {
  const logger = makeLogger()
  let broker: Awaited<ReturnType<typeof makeBroker>>
  let admin: Admin
  let connection: Parameters<typeof openKafkaLog>[0]['connection']
  beforeAll(async () => {
    const [open = 0, guarded = 0, controller = 0] = await freePorts(3)
    broker = await makeBroker(
      [
        `listeners=CLIENT://127.0.0.1:${open},GUARDED://127.0.0.1:${guarded},CONTROLLER://127.0.0.1:${controller}`,
        `advertised.listeners=CLIENT://127.0.0.1:${open},GUARDED://127.0.0.1:${guarded}`,
        'listener.security.protocol.map=CLIENT:PLAINTEXT,GUARDED:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT',
        'sasl.enabled.mechanisms=PLAIN',
        `listener.name.guarded.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_tidemark="${PASSWORD}";`,
        'authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer',
        'super.users=User:ANONYMOUS',
      ],
      { port: open, controllerPort: controller },
    )
    await broker.start()
    const all = { brokers: [`127.0.0.1:${open}`] }
    await migrateKafka(all, { topicPrefix, only: 'marks', partitions: 1, replicationFactor: 1 }, logger)
    admin = new Kafka({ ...all, logLevel: logLevel.NOTHING }).admin()
    await admin.connect()
    connection = { brokers: [`127.0.0.1:${guarded}`], sasl: { mechanism: 'plain', username: 'tidemark', password: PASSWORD } }
    await grant(AclOperationTypes.DESCRIBE)
  }, PATIENCE_MS)
  afterAll(async () => {
    await admin?.disconnect()
    await broker?.dispose()
  }, PATIENCE_MS)

  const grant = (operation: AclOperationTypes) =>
    admin.createAcls({
      acl: [AclResourceTypes.TOPIC, AclResourceTypes.GROUP].map((resourceType) => ({
        ...{ resourceType, resourceName: topicPrefix, resourcePatternType: ResourcePatternTypes.PREFIXED },
        ...{ principal: 'User:tidemark', host: '*', operation, permissionType: AclPermissionTypes.ALLOW },
      })),
    })
  const open = (mayBeUnfit: boolean): Promise<KafkaLog> =>
    openKafkaLog({ connection, regions: 4, topicPrefix, stream: 'marks', mayBeDown: true, mayBeUnfit }, { clock: systemClock, logger })
  const flush = { region: 0, keys: [{ viewer: '4', business: 2, oid: 'a' }] }

  it('stops the start of a job of the common log with a sentence', async () => {
    const log = await open(false)
    await expect(log.consumeFlushes({ persist: async () => undefined })).rejects.toMatchObject({
      code: 'LOG_UNAVAILABLE',
      message: expect.stringMatching(/does not allow this user to use the log/) as string,
    })
    await log.close()
  })

  it('or with a broker that refuses the login, opens if a business owns it, and not otherwise', async () => {
    const granted = connection
    connection = { ...granted, sasl: { mechanism: 'plain', username: 'tidemark', password: 'another' } }
    try {
      await expect(open(false)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
      const log = await open(true)
      await expect(log.check()).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE' })
      await log.close()
    } finally {
      connection = granted
    }
  })

  it('does not stop the start of a job if a business owns it, and is consumed once allowed', async () => {
    const log = await open(true)
    const taken: string[] = []
    const consumer = await log.consumeFlushes({
      persist: async ({ messages }) => void taken.push(...messages.flatMap(({ keys }) => keys.map(({ oid }) => oid))),
    })
    await expect(log.appendFlushes([flush])).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE' })
    await grant(AclOperationTypes.ALL)
    const appended = () =>
      log.appendFlushes([flush]).then(
        () => true,
        () => false,
      )
    await until('we may append', appended, PATIENCE_MS / 2)
    await until('it is consumed', () => taken.includes('a'), PATIENCE_MS / 2)
    await consumer.stop()
    await log.close()
  })
})
