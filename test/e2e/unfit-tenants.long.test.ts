/**
 * Businesses whose own stores refuse the connection: a database that refuses the account, one with a newer schema, a Redis that needs
 * another password, and missing topics. All others are unaffected. These businesses are served as if their store were down, and recover
 * once the servers are fixed.
 */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { createConnection } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { idLiteral } from '../../stores/mysql/literals.ts'
import { migrateMysql } from '../../stores/mysql/schema-version.ts'
import { makeDatabase, mariadb, type TestDatabase } from '../stores/mysql/databases.ts'
import { startRedis, type TestServers } from '../../harness/deployment/redis-servers.ts'
import { MARIADB_SOCKET, service } from '../../harness/deployment/services.ts'
import { until } from '../../harness/until.ts'
import { ask, makeServiceFolder, startService, type Service } from '../../harness/deployment/service.ts'

const COMMAND = join(import.meta.dirname, '..', '..', 'cli', 'tidemark.ts')
const kafka = await service('kafka')
const PATIENCE_MS = 90_000
const MARK = `mutation ($business: String!, $id: ID!) {
  setMark(input: { business: $business, id: $id, mark: LIKE }) { outcome userErrors { code } state subject { likeCount } }
}`
const READ = '{ subjects(business: "article", ids: ["1"]) { likeCount viewerMark } }'

describe.skipIf(kafka === undefined || mariadb === undefined)('businesses whose stores refuse the connection', { timeout: 240_000 }, () => {
  const { folder, remove } = makeServiceFolder()
  const account = `tenant_${process.pid}`
  let [common, locked]: TestServers[] = []
  let databases: TestDatabase[] = []
  let root: Awaited<ReturnType<typeof createConnection>>
  let running: Service | undefined
  let settings: Record<string, unknown> = {}
  const lines = (service: Service) => {
    const whole = service.log().slice(0, service.log().lastIndexOf('\n') + 1)
    return whole.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Record<string, any>] : []))
  }

  beforeAll(async () => {
    ;[common, locked] = await Promise.all([startRedis(), startRedis()])
    databases = await Promise.all(Array.from({ length: 4 }, () => makeDatabase()))
    root = await createConnection({ socketPath: MARIADB_SOCKET, user: 'root' })
    const [, refusing, newer, good] = databases as [TestDatabase, TestDatabase, TestDatabase, TestDatabase]
    await root.query(`CREATE USER '${account}'@'127.0.0.1' IDENTIFIED BY 'another'`)
    await root.query(`GRANT ALL PRIVILEGES ON \`${new URL(refusing.url).pathname.slice(1)}\`.* TO '${account}'@'127.0.0.1'`)
    await migrateMysql(newer.database)
    await newer.database.send('INSERT INTO schema_version (version, applied_at) VALUES (999, 0)')
    await newer.database.send('REPLACE INTO schema_support (id, oldest) VALUES (1, 999)')
    const admin = new Redis(locked.urls[0] as string)
    await admin.config('SET', 'requirepass', 'another')
    admin.disconnect()
    const refusingUrl = refusing.url.replace('tidemark:tidemark@', `${account}:right@`)
    settings = {
      thumbup: { flushAgeMaxMs: 20, windowMs: 50, sweepAfterMs: 500, sweepEveryMs: 100 },
      businesses: [
        { number: 1, name: 'video', entity: 'Video' },
        {
          ...{ number: 2, name: 'article', entity: 'Article' },
          thumbup: { stores: { redis: { urls: locked.urls, password: 'right' }, mysql: { url: refusingUrl } } },
        },
        { number: 3, name: 'comic', entity: 'Comic', thumbup: { stores: { mysql: { url: newer.url } } } },
        { number: 4, name: 'audio', entity: 'Audio', thumbup: { stores: { mysql: { url: good.url } } } },
      ],
      stores: {
        regions: 4,
        redis: { urls: common.urls },
        kafka: { brokers: [kafka], topicPrefix: `unfit-${process.pid}-${Date.now()}`, partitions: 2, replicationFactor: 1 },
        mysql: { url: databases[0]?.url },
      },
    }
    writeFileSync(join(folder, 'tidemark.yaml'), JSON.stringify(settings))
  }, PATIENCE_MS)
  afterAll(async () => {
    await running?.stop()
    for (const database of databases) await database.drop()
    await root.query(`DROP USER '${account}'@'127.0.0.1'`)
    await root.end()
    await Promise.all([common?.stop(), locked?.stop()])
    remove()
  }, PATIENCE_MS)

  function run(...args: string[]): Promise<{ status: number; out: string; error: string }> {
    return new Promise((resolve) => {
      const flags = ['--config', join(folder, 'tidemark.yaml'), '--data', join(folder, 'data')]
      execFile(process.execPath, [COMMAND, ...args, ...flags], { cwd: folder }, (failure, out, error) =>
        resolve({ status: failure === null ? 0 : Number(failure.code), out, error }),
      )
    })
  }
  const mark = (id: string, business: string, viewer = '7') => ask((running as Service).url, viewer, MARK, { business, id })
  const readiness = async () => {
    const answer = await fetch(new URL('/health/ready', (running as Service).url))
    return { status: answer.status, ...((await answer.json()) as { tenants: Record<string, Record<string, string>> }) }
  }

  test('migrate prepares all others, reports each problem in a sentence, and ends with status 1', async () => {
    const { status, out, error } = await run('migrate')
    expect(status).toBe(1)
    expect(out).toMatch(/^applied 0001/m)
    expect(out).toMatch(/^audio: applied 0001/m)
    for (const business of ['article', 'comic', 'audio']) expect(out).toMatch(new RegExp(`^${business}: created topic .*mark-flushes`, 'm'))
    expect(error.trim().split('\n')).toEqual([
      expect.stringMatching(/^CONFIG_INVALID: the stores of business "article": .* refuses "tenant_\d+" .*: check user, password/),
      expect.stringMatching(/^DATA_INCOMPATIBLE: the stores of business "comic": .* has version 999/),
    ])
  })

  test('doctor reports them as wrong, by name', async () => {
    const { status, out } = await run('doctor')
    expect(status).toBe(1)
    const wrong = out.split('\n').filter((line) => line.startsWith('wrong') && /: (article|comic|audio)?:? ?/.test(line))
    expect(wrong).toContainEqual(expect.stringMatching(/hotStore +article: .*refuses the password.*: correct businesses: article: thumbup/))
    expect(wrong).toContainEqual(expect.stringMatching(/recordStore +article: .* refuses "tenant_\d+"/))
    expect(wrong).toContainEqual(expect.stringMatching(/recordStore +comic: .*version 999/))
    expect(out).not.toMatch(/wrong +\w+ +audio/)
  })

  test('reconcile counts all others, names the skipped ones, and ends with a separate status', async () => {
    const { status, out } = await run('reconcile')
    expect(status).toBe(2)
    expect(out).toContain('video: 0 subjects and 0 owners recounted, 0 differ')
    expect(out).toMatch(/^article: not recounted completely: .* refuses "tenant_/m)
    expect(out).toMatch(/^comic: not recounted completely: .*version 999/m)
    expect(out).toContain('audio: 0 subjects and 0 owners recounted, 0 differ')
    // A count that differs takes precedence.
    const drifting = databases[3]?.database as TestDatabase['database']
    await drifting.send(`INSERT INTO counts (business, oid, likes, dislikes, version) VALUES (4, ${idLiteral('planted')}, 3, 0, 1)`)
    try {
      const planted = await run('reconcile')
      expect(planted.status).toBe(1)
      expect(planted.out).toContain('DRIFT  audio/planted: 3 likes and 0 dislikes are counted, 0 and 0 are stored')
      expect(planted.out).toContain('comic: not recounted')
    } finally {
      await drifting.send('DELETE FROM counts')
    }
  })

  test('gateway and jobs start', async () => {
    await Promise.all([['gateway'], ['job', 'thumbup'], ['job', 'history']].map(startsAndTells))
  })

  async function startsAndTells(command: readonly string[]): Promise<void> {
    const role = command.join(' ')
    const own = makeServiceFolder()
    const started = await startService({ folder: own.folder, settings, command })
    try {
      expect((await fetch(new URL('/health/ready', started.url))).status, role).toBe(200)
      const told = () => lines(started).filter(({ business, msg }) => business === 'article' && / is down; going on without it/.test(msg))
      if (role !== 'job history') await until(`${role} tells of both stores`, () => told().length === 2, PATIENCE_MS)
    } finally {
      await started.stop()
      own.remove()
    }
  }

  test('start serves all others, reports each once by name, and recovers when its server is fixed', async () => {
    running = await startService({ folder, settings })
    const started = running
    for (const business of ['video', 'audio']) {
      expect(await mark('1', business)).toMatchObject({
        data: { setMark: { outcome: 'ACCEPTED', subject: { likeCount: 1 } } },
      })
    }
    const journaled = await mark('1', 'article')
    expect(journaled.data.setMark).toMatchObject({ outcome: 'ACCEPTED', state: 'PENDING' })
    expect(journaled).toMatchObject({ extensions: { degraded: expect.arrayContaining(['hotStore']) } })
    expect(await ask(started.url, '7', READ)).toMatchObject({
      data: { subjects: [{ likeCount: null, viewerMark: null }] },
      extensions: { degraded: expect.arrayContaining(['hotStore', 'recordStore']) },
    })
    // Its hot store is the common one, which has the mark.
    expect((await mark('1', 'comic')).data.setMark).toMatchObject({ outcome: 'ACCEPTED' })

    const told = (business: string, store: string) =>
      lines(started).filter((line) => line['business'] === business && line['store'] === store && /is down/.test(line['msg']))
    await until('all are told of', () => told('article', 'recordStore').length > 0 && told('comic', 'recordStore').length > 0, PATIENCE_MS)
    await until('the hot store is told of', () => told('article', 'hotStore').length > 0, PATIENCE_MS)
    expect(told('article', 'recordStore')[0]?.['err'].message).toMatch(/refuses "tenant_\d+" .*: check user, password, rights and tls/)
    expect(told('article', 'hotStore')[0]?.['err'].message).toMatch(/businesses: article: thumbup.stores.redis.username and password/)
    expect(told('comic', 'recordStore')[0]?.['err'].message).toMatch(/version 999/)
    for (const business of ['article', 'comic']) expect(told(business, 'recordStore')).toHaveLength(1)
    const { status, tenants } = await readiness()
    expect(status).toBe(200)
    expect(tenants).toEqual({
      article: { hotStore: expect.stringMatching(/^HOT_STORE/), log: 'ok', recordStore: expect.stringMatching(/^RECORD_STORE/) },
      comic: { hotStore: 'ok', log: 'ok', recordStore: expect.stringMatching(/^RECORD_STORE/) },
      audio: { hotStore: 'ok', log: 'ok', recordStore: 'ok' },
    })

    await root.query(`ALTER USER '${account}'@'127.0.0.1' IDENTIFIED BY 'right'`)
    await databases[2]?.database.send('DELETE FROM schema_version WHERE version = 999')
    expect(await run('migrate')).toMatchObject({ status: 0, error: '' })
    const admin = new Redis(locked?.urls[0] as string, { password: 'another' })
    await admin.config('SET', 'requirepass', 'right')
    admin.disconnect()
    const isWell = async () =>
      Object.values((await readiness()).tenants).every((words) => Object.values(words).every((word) => word === 'ok'))
    await until('all are back', isWell, PATIENCE_MS)
    // The marks journaled meanwhile are there, and are counted.
    const count = async () => (await ask(started.url, undefined, '{ subjects(business: "article", ids: ["1"]) { likeCount } }')).data
    await until('the mark is counted', async () => (await count()).subjects[0].likeCount === 1, PATIENCE_MS)
    const back = () => lines(started).filter(({ msg }) => msg.startsWith('a store of business "article" is back'))
    await until('both stores of article are back', () => new Set(back().map(({ store }) => store)).size === 2, PATIENCE_MS)
    expect((await run('reconcile')).status).toBe(0)
    // Its account may not follow the binary log, but no feed is configured to do so.
    const { out } = await run('doctor')
    expect(out).toMatch(/recordStore +article: /)
    expect(out).not.toMatch(/REPLICATION/)
  })

  test('missing topics of a business do not stop others from starting', async () => {
    await running?.stop()
    const businesses = [...(settings['businesses'] as object[])]
    businesses.push({
      ...{ number: 5, name: 'radio', entity: 'Radio' },
      thumbup: { stores: { mysql: { url: databases[3]?.url.replace(/tidemark_test_/, 'tidemark_none_') } } },
    })
    running = await startService({ folder, settings: { ...settings, businesses } })
    const started = running
    expect((await mark('2', 'video')).data.setMark).toMatchObject({ outcome: 'ACCEPTED', subject: { likeCount: 1 } })
    // The findings of `doctor` about them are also logged, in a line without an error.
    const told = () => lines(started).filter(({ business, store, err }) => business === 'radio' && store === 'log' && err !== undefined)
    await until('it is told of', () => told().length > 0, PATIENCE_MS)
    expect(told()[0]?.['err'].message).toMatch(/topics? .*radio.mark-flushes.*run `tidemark migrate`/)
    expect(told()).toHaveLength(1)
  })
})
