/** Faults of stored data: rows, values and messages that no process of this release wrote. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Kafka, logLevel } from 'kafkajs'
import { createConnection, type ResultSetHeader } from 'mysql2/promise'
import { asLiteral, packedHex } from '../../stores/mysql/literals.ts'
import { ask } from '../deployment/service.ts'
import type { DrillFault } from './drill.ts'
import { STAGED_MAX, type Site } from './site.ts'

const PLAYED = 'mutation Played($input: RecordPlayedInput!) { recordPlayed(input: $input) { recordedCount } }'
const UNSEEN = '{ unseen(business: "video", candidates: ["1"]) { ids } }'
const MARK = 'mutation Mark($input: SetMarkInput!) { setMark(input: $input) { outcome } }'
/** A viewer and a subject that the load does not use. */
const OTHER_VIEWER = '901'
const OTHER_SUBJECT = '990'
const STORED_MAX_MS = 60_000
const LIVE_KEY = 'tm:{live-the-live-configuration}'

export function garbageMessage({ deployment }: Site): DrillFault {
  return {
    name: 'a foreign program writes to a topic',
    alerts: ['TidemarkMessagesParked'],
    async inject() {
      const kafka = deployment.config.stores.kafka
      const producer = new Kafka({ brokers: [...(kafka?.brokers ?? [])], logLevel: logLevel.NOTHING }).producer()
      await producer.connect()
      await producer.send({ topic: `${kafka?.topicPrefix}.flushes`, messages: [{ value: 'no flush', partition: 0 }] })
      await producer.disconnect()
    },
    repair: () => undefined,
  }
}

export function wrongCount(site: Site): DrillFault {
  return {
    name: 'a count is changed by hand',
    alerts: ['TidemarkCountsDrift'],
    inject: () => change(site, 'UPDATE counts SET likes = likes + 1000 WHERE business = 1 LIMIT 5'),
    repair: () => undefined,
  }
}

/** The recount reads the owner together with the count, and cannot read this one. */
export function damagedOwner(site: Site): DrillFault {
  const where = `business = 1 AND oid = ${asLiteral(packedHex(OTHER_SUBJECT))}`
  return {
    name: 'a stored subject is damaged',
    alerts: ['TidemarkCountsNotRecounted'],
    companions: { TidemarkStoreCallsFail: 'each recount of the subject is a failed call' },
    async inject() {
      await call(site, MARK, { input: { business: 'video', id: OTHER_SUBJECT, mark: 'LIKE' } })
      await changeOnceStored(site, `UPDATE counts SET owner = x'00' WHERE ${where}`)
    },
    repair: () => change(site, `UPDATE counts SET owner = NULL WHERE ${where}`),
  }
}

/** The process that reads the filter repairs it. */
export function damagedFilter(site: Site): DrillFault {
  const ids = Array.from({ length: STAGED_MAX + 20 }, (_, at) => String(1_000 + at))
  return {
    name: 'a stored filter is damaged',
    alerts: ['TidemarkFilterDamaged'],
    async inject() {
      await call(site, PLAYED, { input: { business: 'video', ids } })
      const viewer = asLiteral(packedHex(OTHER_VIEWER))
      await changeOnceStored(site, `UPDATE seen_filters SET filter = x'f1d15ea5e0' WHERE viewer = ${viewer} AND month > 0`)
      await call(site, UNSEEN)
    },
    repair: () => undefined,
  }
}

/** As a newer release might write it. `tidemark config set` refuses it. */
export function invalidVersion(site: Site): DrillFault {
  return {
    name: 'a live version is not valid',
    alerts: ['TidemarkConfigRefused'],
    companions: { TidemarkStoreFindings: 'the check of the stores finds the version too' },
    inject: () => writeVersion(site, { limits: { viewer: { points: 0, perSeconds: 1 } } }),
    repair: () => writeVersion(site, {}),
  }
}

async function writeVersion({ deployment }: Site, document: unknown): Promise<void> {
  const redis = new Redis(deployment.servers.redis.port)
  try {
    await redis.hset(LIVE_KEY, { version: Date.now(), text: JSON.stringify(document) })
  } finally {
    redis.disconnect()
  }
}

async function call({ deployment }: Site, query: string, variables: Record<string, unknown> = {}): Promise<void> {
  const { errors } = await ask(deployment.gateways[0]?.url ?? '', OTHER_VIEWER, query, variables)
  if (errors !== undefined) throw new Error(`the fault could not be prepared: ${JSON.stringify(errors)}`)
}

async function change({ deployment }: Site, statement: string): Promise<void> {
  await changedRows(deployment, statement)
}

async function changeOnceStored({ deployment }: Site, statement: string): Promise<void> {
  for (const end = performance.now() + STORED_MAX_MS; (await changedRows(deployment, statement)) === 0; await sleep(100))
    if (performance.now() > end) throw new Error(`no row to damage after ${STORED_MAX_MS} ms: ${statement}`)
}

async function changedRows({ servers }: Site['deployment'], statement: string): Promise<number> {
  const database = await createConnection(`mysql://tidemark:tidemark@127.0.0.1:${servers.mariadb.port}/tidemark`)
  try {
    const [{ affectedRows }] = await database.query<ResultSetHeader>(statement)
    return affectedRows
  } finally {
    await database.end()
  }
}
