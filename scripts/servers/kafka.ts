/**
 * Kafka 4.1 from its Maven artifacts, on Java 17 or later: one process that is broker and controller (KRaft). An
 * acknowledged record is in the page cache of the kernel and therefore survives `kill -9` of the process.
 *
 * Maven copies the artifacts once into a folder (43 MB) that several brokers may share.
 */
import { randomBytes } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ask } from './ask.ts'
import { ensurePrograms, findProgram, javaVersion, run } from './packages.ts'
import { launch, stopProcess } from './processes.ts'
import type { Server } from './server.ts'

const STOP_MS = 15_000
const JAVA_MIN = 17

/** The folder of the artifacts in `kafka-pom.xml`. It names Kafka's version, so that another version is copied again. */
const LIBRARIES = 'libraries-4.1.0'

export type KafkaPorts = { port: number; controllerPort: number }

/** `shared` is the folder of the artifacts. Lines of `settings` override the broker's other properties. */
export function makeKafka(folder: string, ports: KafkaPorts, shared: string = folder, settings: readonly string[] = []): Server {
  const libraries = join(shared, LIBRARIES)
  return {
    name: 'kafka',
    address: `127.0.0.1:${ports.port}`,
    listeners: [
      { port: ports.port, folder },
      { port: ports.controllerPort, folder },
    ],
    async install() {
      await ensurePrograms('kafka', ['java', 'mvn'], ['default-jre-headless', 'maven'])
      const version = javaVersion()
      if (version !== undefined && version < JAVA_MIN)
        throw new Error(`kafka needs Java ${JAVA_MIN} or later, and the java on the path is ${version}: install a newer one`)
      await copyArtifacts(shared, libraries)
    },
    async start() {
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, 'server.properties'), `${[...propertiesOf(folder, ports), ...settings].join('\n')}\n`)
      writeFileSync(join(folder, 'log4j2.properties'), LOGGING)
      await format(folder, libraries)
      const args = [
        '-Xms128m',
        '-Xmx384m',
        '-XX:+UseSerialGC',
        '-XX:TieredStopAtLevel=1',
        ...classPath(folder, libraries),
        'kafka.Kafka',
        'server.properties',
      ]
      launch({ program: findProgram('java') as string, args, folder })
    },
    answers: () => answersApiVersions(ports.port),
    stop: () => stopProcess(folder, STOP_MS),
  }
}

const LOGGING = `status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %p %m (%c)%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
`

function propertiesOf(folder: string, { port, controllerPort }: KafkaPorts): string[] {
  return [
    'process.roles=broker,controller',
    'node.id=1',
    `controller.quorum.voters=1@127.0.0.1:${controllerPort}`,
    `listeners=CLIENT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    `advertised.listeners=CLIENT://127.0.0.1:${port}`,
    'listener.security.protocol.map=CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'inter.broker.listener.name=CLIENT',
    'controller.listener.names=CONTROLLER',
    `log.dirs=${join(folder, 'data')}`,
    'auto.create.topics.enable=false',
    'offsets.topic.replication.factor=1',
    'offsets.topic.num.partitions=5',
    'transaction.state.log.replication.factor=1',
    'transaction.state.log.min.isr=1',
    'transaction.state.log.num.partitions=5',
    'share.coordinator.state.topic.replication.factor=1',
    'share.coordinator.state.topic.min.isr=1',
    // A killed broker can register again only after its old session has ended.
    'broker.session.timeout.ms=3000',
    'broker.heartbeat.interval.ms=1000',
    'group.initial.rebalance.delay.ms=0',
    'group.min.session.timeout.ms=1000',
    'log.cleaner.dedupe.buffer.size=8388608',
  ]
}

function classPath(folder: string, libraries: string): string[] {
  return [`-Dlog4j2.configurationFile=${join(folder, 'log4j2.properties')}`, '-cp', join(libraries, '*')]
}

async function copyArtifacts(shared: string, libraries: string): Promise<void> {
  if (existsSync(libraries)) return
  const partial = join(shared, `${LIBRARIES}.partial`)
  rmSync(partial, { recursive: true, force: true })
  mkdirSync(partial, { recursive: true })
  copyFileSync(join(import.meta.dirname, 'kafka-pom.xml'), join(partial, 'pom.xml'))
  const args = ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${partial}`]
  await run('mvn', args, 'kafka needs its artifacts, and Maven could not copy them', partial)
  renameSync(partial, libraries)
}

/** A cluster's id is 16 bytes in URL-safe base 64: 22 characters. */
async function format(folder: string, libraries: string): Promise<void> {
  if (existsSync(join(folder, 'data', 'meta.properties'))) return
  const id = randomBytes(16).toString('base64url').replace(/^-/, 'A')
  const args = [
    '-XX:TieredStopAtLevel=1',
    ...classPath(folder, libraries),
    'kafka.tools.StorageTool',
    'format',
    '-t',
    id,
    '-c',
    'server.properties',
  ]
  await run('java', args, 'Kafka could not format its data folder', folder)
}

/** Request header: API 18 (ApiVersions), version 0, correlation 1, no client id. The answer's third field is an error code. */
async function answersApiVersions(port: number): Promise<boolean> {
  const request = Buffer.from('0000000a00120000000000010000', 'hex')
  const answer = await ask(port, request, (bytes) => bytes.length >= 10)
  return answer !== undefined && answer.readInt16BE(8) === 0
}
