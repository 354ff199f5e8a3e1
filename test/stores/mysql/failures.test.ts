import { createServer, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { openDatabase } from '../../../stores/mysql/database.ts'
import { wrapFailure } from '../../../stores/mysql/failures.ts'
import { type MysqlRecordStoreOptions, openMysqlRecordStore } from '../../../subgraphs/history/stores/mysql/record-store.ts'
import { migrateMysql } from '../../../stores/mysql/schema-version.ts'
import { keyOf, numbered, report } from '../../contracts/reports.ts'
import { makeDatabase, makeServer, mariadb, type OwnServer, type TestDatabase } from './databases.ts'
import { freePorts } from '../../../harness/deployment/ports.ts'

const options = (url: string, others: Partial<MysqlRecordStoreOptions> = {}): MysqlRecordStoreOptions => ({ url, regions: 100, ...others })
const UNAVAILABLE = 'RECORD_STORE_UNAVAILABLE'

describe('an unusable server', () => {
  it.each([
    ['not a url', 'secret'],
    ['begins with https:', 'https://u:secret@h/d'],
    ['names no host', 'mysql:///d'],
    ['names no database', 'mysql://u:secret@h'],
    ['has parameters', 'mysql://u:secret@h/d?ssl=true'],
  ])('a url that %s is refused without being repeated', async (what, url) => {
    const refusal = openMysqlRecordStore(options(url))
    await expect(refusal).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(what) })
    await expect(refusal).rejects.not.toMatchObject({ message: expect.stringContaining('secret') })
  })

  it('that is down does not stop the store from opening, and its calls name the address', async () => {
    const [port = 0] = await freePorts(1)
    const store = await openMysqlRecordStore(options(`mysql://tidemark:secret@127.0.0.1:${port}/tidemark`))
    const failure = await store.check().catch((error: unknown) => error as Error)
    expect(failure).toMatchObject({
      code: UNAVAILABLE,
      message: expect.stringMatching(/127\.0\.0\.1:\d+\/tidemark.*ECONNREFUSED/),
      cause: { code: 'ECONNREFUSED' },
    })
    expect(failure).not.toMatchObject({ message: expect.stringContaining('secret') })
    await store.close()
  })

  it('that accepts connections and never speaks is given up in time, by every caller', async () => {
    const sockets: Socket[] = []
    const silent = createServer((socket) => void sockets.push(socket))
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const url = `mysql://tidemark@127.0.0.1:${(silent.address() as AddressInfo).port}/tidemark`
    const startedAt = Date.now()
    const store = await openMysqlRecordStore(options(url, { connectTimeoutMs: 150, waitTimeoutMs: 300, connectionsMax: 2 }))
    const outcomes = await Promise.allSettled(numbered(20).map(() => store.check()))
    expect(outcomes.map((outcome) => (outcome as PromiseRejectedResult).reason.code)).toEqual(outcomes.map(() => UNAVAILABLE))
    expect(Date.now() - startedAt).toBeLessThan(3_000)
    await store.close()
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => silent.close(resolve))
  })

  it.each([
    ['STORE_FULL', { errno: 1021, message: 'Disk full (/tmp); waiting for someone to free some space...' }],
    ['STORE_FULL', { errno: 1114, message: "The table 'history' is full" }],
    ['STORE_FULL', { errno: 1030, message: 'Got error 28 "No space left on device" from storage engine InnoDB' }],
    ['STORE_FULL', { errno: 3, message: "Error writing file '/data/x' (Errcode: 28)" }],
    [UNAVAILABLE, { errno: 1040, message: 'Too many connections' }],
    [UNAVAILABLE, { errno: 1213, message: 'Deadlock found' }],
    [UNAVAILABLE, { errno: 1053, message: 'Server shutdown in progress' }],
    [UNAVAILABLE, { errno: 1290, message: 'The server is running with the --read-only option' }],
    [UNAVAILABLE, { errno: -104, code: 'ECONNRESET', message: 'read ECONNRESET' }],
    [UNAVAILABLE, { code: 'PROTOCOL_CONNECTION_LOST', fatal: true, message: 'Connection lost' }],
    ['DATA_INCOMPATIBLE', { errno: 1146, message: "Table 'history' doesn't exist" }],
    ['INTERNAL', { errno: 1064, message: 'You have an error in your SQL syntax' }],
  ])('a failure becomes %s: %o', (code, said) => {
    const cause = Object.assign(new Error(said.message), said, { sql: 'INSERT what viewers watched' })
    const wrapped = wrapFailure(cause, '127.0.0.1:3306/tidemark', '"tidemark"')
    expect(wrapped).toMatchObject({ code, cause })
    expect(JSON.stringify(wrapped.cause)).not.toContain('watched')
  })

  it('a row that cannot be decoded is no outage', () => {
    const decode = (): unknown => Buffer.alloc(1).readUInt32BE()
    expect(decode).toThrow(expect.objectContaining({ code: 'ERR_BUFFER_OUT_OF_BOUNDS' }))
    try {
      decode()
    } catch (error) {
      expect(wrapFailure(error, '127.0.0.1:3306/tidemark', '"tidemark"')).toMatchObject({ code: 'INTERNAL' })
    }
  })
})

describe.skipIf(mariadb === undefined)('a MariaDB that refuses', () => {
  let test: TestDatabase
  beforeAll(async () => {
    test = await makeDatabase()
    await migrateMysql(test.database)
  })
  afterAll(async () => test?.drop())

  it('a wrong password is a mistake of the configuration, named without the password', async () => {
    const refusal = openMysqlRecordStore(options(test.url, { password: 'hunter2-secret' }))
    await expect(refusal).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/refuses "tidemark".*check user, password, rights/),
    })
    await expect(refusal).rejects.not.toMatchObject({ message: expect.stringContaining('secret') })
  })

  it('a database that does not exist is named', async () => {
    const refusal = openMysqlRecordStore(options(test.url.replace(/\/\w+$/, '/tidemark_nowhere')))
    await expect(refusal).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('tidemark_nowhere') })
  })

  it('requiring TLS on a server without TLS fails instead of sending the password in the clear', async () => {
    await expect(openMysqlRecordStore(options(test.url.replace('127.0.0.1', 'localhost'), { tls: true }))).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('TLS'),
    })
  })

  it('a closed store refuses calls', async () => {
    const store = await openMysqlRecordStore(options(test.url))
    await store.close()
    await store.close()
    await expect(store.check()).rejects.toMatchObject({ code: UNAVAILABLE, message: expect.stringContaining('closed') })
  })

  it('more callers than connections all get their answer', async () => {
    const store = await openMysqlRecordStore(options(test.url, { connectionsMax: 2 }))
    await Promise.all(
      numbered(100).map((oid) => store.putProgress([{ key: keyOf('1', oid), record: report(Number(oid), { version: 1 }) }])),
    )
    expect(await store.countProgress()).toBe(100)
    expect(store.figures()).toMatchObject({ inFlight: 0, waiting: 0, rows: 100 })
    await store.close()
  })
})

describe.skipIf(mariadb === undefined)('a MariaDB in trouble', () => {
  let server: OwnServer
  beforeAll(async () => {
    server = await makeServer(['--innodb-file-per-table=0', '--innodb-data-file-path=ibdata1:12M:autoextend:max:20M'])
    await server.start()
  })
  afterAll(async () => server?.remove())

  it('a store that opened while it was down checks the schema once it is up', async () => {
    await server.kill()
    const store = await openMysqlRecordStore(options(server.url, { connectTimeoutMs: 500 }))
    await expect(store.check()).rejects.toMatchObject({ code: UNAVAILABLE })
    await server.start()
    await expect(store.check()).rejects.toMatchObject({ code: 'DATA_INCOMPATIBLE', message: expect.stringContaining('tidemark migrate') })
    const database = openDatabase(systemClock, { url: server.url })
    await migrateMysql(database)
    await database.close()
    await store.check()
    await store.close()
  })

  it('a statement that stalls ends in time, counts as overload, and can be repeated by its caller', async () => {
    const store = await openMysqlRecordStore(options(server.url, { statementTimeoutMs: 300, connectTimeoutMs: 300, waitTimeoutMs: 300 }))
    const rows = numbered(50).map((oid) => ({ key: keyOf('7', oid), record: report(5, { version: 5 }) }))
    server.pause()
    const startedAt = Date.now()
    await expect(store.putProgress(rows)).rejects.toMatchObject({ code: UNAVAILABLE, message: expect.stringContaining('in time') })
    expect(Date.now() - startedAt).toBeLessThan(2_000)
    expect(store.figures()).toMatchObject({ slow: 1, rowLimit: 256 })
    server.resume()
    await store.putProgress(rows)
    expect((await store.getProgressMany(rows.map((row) => row.key))).map((record) => record?.viewedAt)).toEqual(rows.map(() => 5))
    await store.close()
  })

  it('a full disk is STORE_FULL, and nothing is half-written', async () => {
    const store = await openMysqlRecordStore(options(server.url))
    const batch = (round: number) =>
      numbered(512).map((oid) => ({
        key: keyOf(`viewer ${round}`, oid.padStart(60, '-')),
        record: report(5, { version: 5, device: 'd'.repeat(64) }),
      }))
    let round = 0
    let failure: unknown
    while (failure === undefined && round < 200)
      failure = await store.putProgress(batch(++round)).then(
        () => undefined,
        (error: unknown) => error,
      )
    expect(failure).toMatchObject({ code: 'STORE_FULL', message: expect.stringContaining('free or add disk space') })
    expect((await store.getProgressMany(batch(round).map((row) => row.key))).filter((record) => record !== undefined)).toEqual([])
    expect((await store.getProgressMany(batch(round - 1).map((row) => row.key))).filter((record) => record === undefined)).toEqual([])
    await store.close()
  })
})
