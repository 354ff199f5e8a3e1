/**
 * Looks for the bytes of an id, as text and as a packed integer, in everything that a deployment stores: entries, rows and messages of all
 * stores, and the bytes of all files, such as data files, logs, journals, exports and reports. It knows nothing of Tidemark's adapters.
 */
import { Redis } from 'ioredis'
import { Kafka, logLevel } from 'kafkajs'
import { open } from 'lmdb'
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createConnection } from 'mysql2/promise'
import type { ErasureReport } from '../../cli/privacy/report.ts'
import { packedIdOf } from '../../core/keys.ts'
import type { OwnServers } from '../../harness/deployment/own-servers.ts'
import type { FeedShape } from './feed-shapes.ts'

type Found = string[]

/** Files that keep bytes of removed entries, and the words of the report about them. A topic is named in its folder. */
const KEPT_BYTES: readonly [path: RegExp, what: string][] = [
  [/^redis\/(?:appendonlydir\/|dump\.rdb$)/, 'append-only file and snapshots of Redis'],
  [/^mariadb\/data\/binlog\.\d+$/, 'binary log of MySQL'],
  [/^mariadb\/data\/(?:ib_logfile|undo|ibdata|tidemark\/.*\.ibd$)/, 'redo log, undo log and free space in the data files of MySQL'],
  [/\.mdb$/, 'free pages'],
]

/** All places that have the id. */
export async function findEverywhere(shape: FeedShape, viewer: string): Promise<Found> {
  const needles = [Buffer.from(viewer), packedIdOf(viewer)]
  function has(bytes: Uint8Array | null): boolean {
    if (bytes === null) return false
    // Without a copy: some files have a hundred megabytes.
    const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    return needles.some((needle) => view.includes(needle))
  }
  const found = [...(await inFiles(shape.folder, has)), ...inBytes(shape.folder, has)]
  if (shape.servers !== undefined) found.push(...(await inServers(shape.servers, has)))
  return found
}

/** The places that have the id although the report of the erasure does not leave them to time. */
export async function witness(shape: FeedShape, viewer: string, report: ErasureReport): Promise<Found> {
  const expires = (words: string): boolean => report.expires.some(({ what }) => what.includes(words))
  return (await findEverywhere(shape, viewer)).filter((place) => {
    const words = wordsFor(place)
    return words === undefined || !expires(words)
  })
}

function wordsFor(place: string): string | undefined {
  if (place.startsWith('topic ')) return place
  if (/^hot-feed-changes|^tm:feed:changes/.test(place)) return 'notes of changes'
  if (place.startsWith('tm:first:')) return 'day flags'
  if (!place.startsWith('file ')) return undefined
  const path = place.slice('file '.length)
  const topic = /^kafka\/data\/(.+)-\d+\/\d+\.log$/.exec(path)?.[1]
  return topic === undefined ? KEPT_BYTES.find(([pattern]) => pattern.test(path))?.[1] : `topic ${topic}`
}

/** The bytes of every file below the folder. */
function inBytes(folder: string, has: (bytes: Uint8Array) => boolean): Found {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).flatMap((entry) => {
    const bytes = bytesOf(join(folder, entry))
    return has(bytes) ? [`file ${entry}`] : []
  })
}

/** A file system may store small files without blocks. A larger file without blocks has only zeros. Kafka reserves gigabytes of them. */
const INLINE_BYTES_MAX = 1_048_576

/** Servers remove files meanwhile. */
function bytesOf(path: string): Buffer {
  try {
    const stat = statSync(path)
    const isEmpty = !stat.isFile() || (stat.blocks === 0 && stat.size > INLINE_BYTES_MAX)
    return isEmpty ? Buffer.alloc(0) : readFileSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0)
    throw error
  }
}

/** The tables of every LMDB file below the folder. */
async function inFiles(folder: string, has: (bytes: Uint8Array) => boolean): Promise<Found> {
  const found: Found = []
  for (const entry of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = join(folder, entry)
    if (!entry.endsWith('tidemark.mdb') || !statSync(path).isFile()) continue
    const root = open({ path, readOnly: true, encoding: 'binary', keyEncoding: 'binary', maxDbs: 64 })
    try {
      for (const name of [...root.getKeys()].map((key) => String(key))) {
        const table = root.openDB({ name, encoding: 'binary', keyEncoding: 'binary' })
        for (const { key, value } of table.getRange({})) if (has(key as Buffer) || has(value as Buffer)) found.push(name.replace(/\0$/, ''))
      }
    } finally {
      await root.close()
    }
  }
  return [...new Set(found)]
}

async function inServers(servers: OwnServers, has: (bytes: Uint8Array | null) => boolean): Promise<Found> {
  return [
    ...(await inRedis(servers.redis.port, has)),
    ...(await inMariadb(servers.mariadb.port, has)),
    ...(await inKafka(servers.kafka.port, has)),
  ]
}

async function inRedis(port: number, has: (bytes: Uint8Array | null) => boolean): Promise<Found> {
  const redis = new Redis({ port })
  const found: Found = []
  try {
    for (let cursor = '0'; ;) {
      const [next, keys] = (await redis.callBuffer('scan', [cursor])) as [Buffer, Buffer[]]
      for (const key of keys) {
        const values = await valuesOf(redis, key)
        if ([key, ...values].some(has)) found.push(String(key))
      }
      cursor = String(next)
      if (cursor === '0') return found
    }
  } finally {
    redis.disconnect()
  }
}

async function valuesOf(redis: Redis, key: Buffer): Promise<Buffer[]> {
  const type = await redis.type(key)
  if (type === 'string') return [(await redis.getBuffer(key)) ?? Buffer.alloc(0)]
  if (type === 'hash') return [...(await redis.hkeysBuffer(key)), ...(await redis.hvalsBuffer(key))]
  if (type === 'list') return redis.lrangeBuffer(key, 0, -1)
  if (type === 'set') return redis.smembersBuffer(key)
  if (type === 'zset') return redis.zrangeBuffer(key, 0, '-1')
  return []
}

async function inMariadb(port: number, has: (bytes: Uint8Array | null) => boolean): Promise<Found> {
  const connection = await createConnection({ host: '127.0.0.1', port, user: 'tidemark', password: 'tidemark', database: 'tidemark' })
  const found: Found = []
  try {
    const [tables] = await connection.query({ sql: 'SHOW TABLES', rowsAsArray: true })
    for (const [table] of tables as unknown as string[][]) {
      const [rows] = await connection.query({ sql: `SELECT * FROM ${table}`, rowsAsArray: true })
      for (const row of rows as unknown as unknown[][])
        if (row.some((cell) => has(Buffer.isBuffer(cell) ? cell : Buffer.from(JSON.stringify(cell))))) found.push(`table ${table}`)
    }
    return [...new Set(found)]
  } finally {
    await connection.end()
  }
}

async function inKafka(port: number, has: (bytes: Uint8Array | null) => boolean): Promise<Found> {
  const kafka = new Kafka({ brokers: [`127.0.0.1:${port}`], logLevel: logLevel.NOTHING })
  const admin = kafka.admin()
  await admin.connect()
  const topics = (await admin.listTopics()).filter((topic) => !topic.startsWith('__'))
  const ends = new Map<string, number>()
  for (const topic of topics)
    for (const { partition, high, low } of await admin.fetchTopicOffsets(topic))
      if (Number(high) > Number(low)) ends.set(`${topic}/${partition}`, Number(high))
  const found = new Set<string>()
  if (ends.size > 0) {
    const consumer = kafka.consumer({ groupId: `witness-${Date.now()}` })
    await consumer.connect()
    await consumer.subscribe({ topics, fromBeginning: true })
    await new Promise<void>((resolve, reject) => {
      consumer
        .run({
          eachMessage({ topic, partition, message }) {
            if (has(message.key) || has(message.value)) found.add(`topic ${topic}`)
            if (Number(message.offset) + 1 >= (ends.get(`${topic}/${partition}`) ?? 0)) ends.delete(`${topic}/${partition}`)
            if (ends.size === 0) resolve()
            return Promise.resolve()
          },
        })
        .catch(reject)
    })
    await consumer.disconnect()
  }
  await admin.disconnect()
  return [...found]
}
