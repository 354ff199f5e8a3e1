import { createConnection } from 'mysql2/promise'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../../core/clock.ts'
import type { CountFeed } from '../../../../subgraphs/thumbup/change-feed/count-feed.ts'
import { type BinlogFeedOptions, makeBinlogFeed } from '../../../../subgraphs/thumbup/change-feed/mysql/binlog-feed.ts'
import { openDatabase } from '../../../../stores/mysql/database.ts'
import { checkMysql } from '../../../../stores/mysql/doctor.ts'
import { packedHex } from '../../../../stores/mysql/literals.ts'
import { type Piece, readBinlog } from '../../../../subgraphs/thumbup/change-feed/mysql/binlog-reader.ts'
import { type Place, SHOW_FILES, putPlace } from '../../../../subgraphs/thumbup/change-feed/mysql/feed-places.ts'
import { type MysqlMarkRecords, openMysqlMarkRecords } from '../../../../subgraphs/thumbup/stores/mysql/record-store.ts'
import { migrateMysql } from '../../../../stores/mysql/schema-version.ts'
import { type Followed, follow, like, portOf, quietLogger, throughPort } from '../../../../harness/samples/count-feeds.ts'
import { type TcpProxy, makeTcpProxy } from '../../../../harness/faults/tcp-proxy.ts'
import { type OwnServer, type TestDatabase, makeDatabase, makeServer, mariadb } from '../../../stores/mysql/databases.ts'
import { until } from '../../../../harness/until.ts'

let given = 0
const fresh = (): string => `f${++given}`
const surroundings = { clock: systemClock, logger: quietLogger }
const QUICK = { beatEveryMs: 50, stalledAfterMs: 600 }

describe.skipIf(mariadb === undefined)('the change feed from the binary log', () => {
  let test: TestDatabase
  let records: MysqlMarkRecords
  const followed: Followed[] = []
  const proxies: TcpProxy[] = []
  beforeAll(async () => {
    test = await makeDatabase()
    await migrateMysql(test.database)
    records = await openMysqlMarkRecords({ url: test.url, regions: 100 })
  })
  afterEach(async () => {
    await Promise.all(followed.splice(0).map(({ running }) => running.stop()))
    await Promise.all(proxies.splice(0).map((proxy) => proxy.close()))
  })
  afterAll(async () => {
    await records?.close()
    await test?.drop()
  })

  const feedOf = (name: string, more: Partial<BinlogFeedOptions> = {}): CountFeed =>
    makeBinlogFeed(test.database, { name, mysql: { url: test.url }, ...QUICK, ...more }, surroundings)

  async function started(feed: CountFeed, failures = 0): Promise<Followed> {
    const following = await follow(feed, failures)
    followed.push(following)
    return following
  }

  const versionsOf = ({ counts }: Followed, oid: string) => counts.filter((each) => each.oid === oid).map((each) => each.counts.version)

  it('delivers the counts and the owner sums of a transaction of marks', async () => {
    const oid = `naïve-${fresh()}`
    await records.registerSubjects([{ business: 65_535, oid, owner: '9223372036854775807' }])
    const feed = await started(feedOf(fresh()))
    await like(records, 65_535, oid, ['1', 'b'])
    await like(records, 65_535, oid, ['3'])
    await until('both came', () => feed.counts.length >= 2)
    await until('the sums came', () => feed.owners.length >= 2)
    expect(feed.counts.map((each) => ({ ...each, counts: { ...each.counts } }))).toEqual([
      { business: 65_535, oid, counts: { likes: 2, dislikes: 0, version: 1 } },
      { business: 65_535, oid, counts: { likes: 3, dislikes: 0, version: 2 } },
    ])
    expect(feed.owners.map(({ owner, likes }) => [owner, likes])).toEqual([
      ['9223372036854775807', 2],
      ['9223372036854775807', 3],
    ])
    expect(feed.gaps).toEqual([])
  })

  it('delivers to a new feed the changes committed from its start on', async () => {
    const oid = fresh()
    await like(records, 1, oid, ['1'])
    const feed = await started(feedOf(fresh()))
    await like(records, 1, oid, ['2'])
    await until('the second came', () => versionsOf(feed, oid).length > 0)
    expect(versionsOf(feed, oid)).toEqual([2])
  })

  it('has delivered every change committed before the time that it reports as read', async () => {
    const oid = fresh()
    const feed = await started(feedOf(fresh()))
    for (let version = 1; version <= 20; version++) {
      await like(records, 1, oid, [String(version)])
      const committedAt = Date.now()
      await until('it is fresh', () => feed.running.readUntil() > committedAt)
      expect(versionsOf(feed, oid).at(-1)).toBe(version)
    }
  })

  it('delivers a rejected change again, in order, and does not report it as read before', async () => {
    const oid = fresh()
    const feed = await started(feedOf(fresh()), 3)
    await like(records, 1, oid, ['1'])
    const committed = Date.now()
    await until('it was rejected', () => feed.calls() > 1)
    expect(feed.running.readUntil()).toBeLessThanOrEqual(committed)
    await like(records, 1, oid, ['2'])
    await until('all came', () => versionsOf(feed, oid).length >= 2)
    expect(versionsOf(feed, oid)).toEqual([1, 2])
  })

  it('resumes after a stop without a gap or a repetition', async () => {
    const [name, oid] = [fresh(), fresh()]
    const first = await started(feedOf(name))
    await like(records, 1, oid, ['1'])
    await until('the first came', () => versionsOf(first, oid).length === 1)
    await first.running.stop()
    await like(records, 1, oid, ['2'])
    await like(records, 1, oid, ['3'])
    const second = await started(feedOf(name))
    await until('the others came', () => versionsOf(second, oid).length >= 2)
    expect(versionsOf(second, oid)).toEqual([2, 3])
  })

  it('stores a place only behind accepted changes', async () => {
    const [name, oid] = [fresh(), fresh()]
    const first = await started(feedOf(name), Infinity)
    await like(records, 1, oid, ['1'])
    await until('it was rejected', () => first.calls() > 0)
    await sleep(300)
    // As if the first feed had been killed: it cannot correct its place.
    const second = await started(feedOf(name))
    await until('it comes to the next', () => versionsOf(second, oid).length > 0)
    expect(versionsOf(second, oid)).toEqual([1])
  })

  it('without GTIDs a place is a file and a position, and the next transaction is read from there', async () => {
    const oid = fresh()
    const read = async (place: Place) => {
      const pieces: Piece[] = []
      const reader = readBinlog({ url: test.url }, place, 4_000_000 + given, {
        onPiece: (piece) => pieces.push(piece),
        onUnreadable: () => undefined,
      })
      await until('one came', () => pieces.length > 0)
      await reader.end()
      return pieces
    }
    const last = (await test.database.send(SHOW_FILES)).rows.at(-1)
    await like(records, 1, oid, ['1'])
    const [first] = await read({ file: String(last?.[0]), position: Number(last?.[1]) })
    expect(first?.changes).toMatchObject([{ counted: { oid, counts: { version: 1 } } }])
    await like(records, 1, oid, ['2'])
    const [second] = await read(first?.place as Place)
    expect(second?.changes).toMatchObject([{ counted: { oid, counts: { version: 2 } } }])
  })

  it('splits a large batch into several calls, in order', async () => {
    const oid = fresh()
    const feed = await started(feedOf(fresh(), { batchMax: 7 }))
    const subjects = Array.from({ length: 50 }, (_, index) => `${oid}-${String(index).padStart(2, '0')}`)
    for (const subject of subjects) await like(records, 2, subject, ['1'])
    await until('all came', () => feed.counts.length >= 50)
    expect(feed.counts.map((each) => each.oid)).toEqual(subjects)
  })

  it('continues on the same connection after more changes than may wait, and none is lost or repeated', async () => {
    const warnings: unknown[] = []
    const logger = { ...quietLogger, warn: (fields: object) => void warnings.push(fields) }
    const blocked = Promise.withResolvers<void>()
    const versions: number[] = []
    const feed = makeBinlogFeed(test.database, { name: fresh(), mysql: { url: test.url }, ...QUICK }, { clock: systemClock, logger })
    const running = await feed.start(async ({ counts }) => {
      await blocked.promise
      versions.push(...counts.map((each) => each.counts.version))
    })
    const row = (version: number) => `(9, x'${packedHex(String(version))}', 1, 0, ${version})`
    for (const begin of [1, 6_001, 12_001, 18_001]) {
      const rows = Array.from({ length: 6_000 }, (_, index) => row(begin + index)).join(',')
      await test.database.send(`INSERT INTO counts (business, oid, likes, dislikes, version) VALUES ${rows}`)
    }
    await sleep(1_000)
    blocked.resolve()
    const unblockedAt = Date.now()
    await until('all came', () => versions.length >= 24_000)
    await until('it is fresh', () => running.readUntil() > unblockedAt)
    await running.stop()
    expect(versions).toEqual(Array.from({ length: 24_000 }, (_, index) => index + 1))
    expect(warnings).toEqual([])
  })

  it.each(['broken', 'silent'] as const)('a %s connection is opened again, and nothing is lost or repeated', async (cut) => {
    const oid = fresh()
    const proxy = await makeTcpProxy(portOf(test.url))
    proxies.push(proxy)
    const reasons: unknown[] = []
    const logger = { ...quietLogger, warn: (fields: object) => void reasons.push(fields) }
    const mysql = { url: throughPort(test.url, proxy.port), connectTimeoutMs: 500 }
    const feed = await started(makeBinlogFeed(test.database, { name: fresh(), mysql, ...QUICK }, { clock: systemClock, logger }))
    await like(records, 1, oid, ['1'])
    await until('the first came', () => versionsOf(feed, oid).length === 1)
    proxy.cut(cut)
    await like(records, 1, oid, ['2'])
    await sleep(1_500)
    const stuckAt = feed.running.readUntil()
    expect(stuckAt).toBeLessThan(Date.now() - 1_000)
    await until('it was noticed', () => reasons.length > 0)
    proxy.mend()
    await until('the second came', () => versionsOf(feed, oid).length >= 2)
    await until('it is fresh', () => feed.running.readUntil() > Date.now() - 500)
    expect(versionsOf(feed, oid)).toEqual([1, 2])
    expect(feed.gaps).toEqual([])
  })

  it('a place unknown to the server is reported and becomes the current one', async () => {
    const [name, oid] = [fresh(), fresh()]
    await test.database.send(putPlace(name, { gtids: '0-1-99999999' }))
    const feed = await started(feedOf(name))
    await until('it told', () => feed.gaps.length > 0)
    expect(feed.gaps[0]).toMatch(/continues with the next commit/)
    await until('it is fresh', () => feed.running.readUntil() > Date.now() - 1_000)
    await like(records, 1, oid, ['1'])
    await until('the next came', () => versionsOf(feed, oid).length > 0)
    expect(feed.gaps).toHaveLength(1)
  })

  it('a row with invalid values from another writer is reported and skipped', async () => {
    const oid = fresh()
    const feed = await started(feedOf(fresh()))
    await test.database.send(`INSERT INTO counts (business, oid, likes, dislikes, version) VALUES (9, x'00', 1, 0, 1)`)
    await like(records, 1, oid, ['1'])
    await until('the next came', () => versionsOf(feed, oid).length > 0)
    expect(feed.gaps.join()).toMatch(/oid is 00, not a packed id/)
    await test.database.send('DELETE FROM counts WHERE business = 9')
  })
})

describe.skipIf(mariadb === undefined)('the change feed of another server', () => {
  let server: OwnServer
  let silent: OwnServer
  beforeAll(async () => {
    server = await makeServer(['--binlog-row-metadata=NO_LOG'])
    silent = await makeServer(['--skip-log-bin'])
    await Promise.all([server.start(), silent.start()])
  })
  afterAll(async () => {
    await server?.remove()
    await silent?.remove()
  })

  async function asRoot(...statements: readonly string[]): Promise<void> {
    const root = await createConnection({ socketPath: server.socket, user: 'root' })
    for (const statement of statements) await root.query(statement)
    await root.end()
  }

  it('column names missing in the binary log are queried; purged files are a gap, and the feed continues', async () => {
    const test = await makeDatabase(server.url)
    await migrateMysql(test.database)
    const records = await openMysqlMarkRecords({ url: test.url, regions: 100 })
    const feed = () => makeBinlogFeed(test.database, { name: 'f', mysql: { url: test.url }, ...QUICK }, surroundings)
    const first = await follow(feed())
    await like(records, 1, 'one', ['1'])
    await until('it came', () => first.counts.length > 0)
    expect(first.counts).toEqual([{ business: 1, oid: 'one', counts: { likes: 1, dislikes: 0, version: 1 } }])
    await first.running.stop()
    await like(records, 1, 'two', ['1'])
    await asRoot('FLUSH BINARY LOGS', 'FLUSH BINARY LOGS')
    await like(records, 1, 'three', ['1'])
    await sleep(200)
    await asRoot('FLUSH BINARY LOGS', 'PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY')
    const second = await follow(feed())
    await until('it told', () => second.gaps.length > 0)
    await until('it is fresh', () => second.running.readUntil() > Date.now() - 1_000)
    await like(records, 1, 'four', ['1'])
    await until('the next came', () => second.counts.length > 0)
    expect(second.counts.map(({ oid }) => oid)).toEqual(['four'])
    await second.running.stop()
    await records.close()
    await test.drop()
  })

  it('an account without the replication privilege is refused with the grant it needs, and doctor reports it', async () => {
    await asRoot(
      'CREATE DATABASE tidemark_plain',
      "CREATE USER 'plain'@'127.0.0.1' IDENTIFIED BY 'plain'",
      "GRANT ALL PRIVILEGES ON `tidemark_plain`.* TO 'plain'@'127.0.0.1'",
    )
    const url = `mysql://plain:plain@127.0.0.1:${portOf(server.url)}/tidemark_plain`
    const database = openDatabase(systemClock, { url })
    await migrateMysql(database)
    const feed = makeBinlogFeed(database, { name: 'f', mysql: { url }, ...QUICK }, surroundings)
    await expect(follow(feed)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/GRANT REPLICATION SLAVE/) as string,
    })
    const findings = await checkMysql(database)
    expect(findings.find(({ subject }) => subject === 'change feed')).toMatchObject({
      level: 'doubtful',
      sentence: expect.stringMatching(/REPLICATION SLAVE/) as string,
    })
    await database.close()
  })

  it('a server without a binary log is refused with the fix, and doctor reports it', async () => {
    const test = await makeDatabase(silent.url)
    await migrateMysql(test.database)
    const feed = makeBinlogFeed(test.database, { name: 'f', mysql: { url: test.url }, ...QUICK }, surroundings)
    await expect(follow(feed)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/writes no binary log: start it with log-bin/) as string,
    })
    const findings = await checkMysql(test.database)
    expect(findings.find(({ subject }) => subject === 'change feed')?.sentence).toMatch(/writes no binary log/)
    await test.drop()
  })
})
