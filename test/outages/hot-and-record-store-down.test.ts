/**
 * Redis and MariaDB are killed at once under the three subgraphs. Reads are answered, empty or from the memory of the process, and name
 * both stores. Writes are accepted, and reach their stores when the servers are back. In the embedded shape this cannot happen: both stores
 * are files of the answering process.
 */
import { join } from 'node:path'
import { graphql } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { makeConfig } from '../../config/config.ts'
import { ringOf } from '../../config/feed-existence.ts'
import type { Degraded } from '../../core/outage/degraded.ts'
import { openEnvironment } from '../../stores/lmdb/environment.ts'
import { openLmdbJournals } from '../../writeback/stores/lmdb/journal.ts'
import { openLmdbLog } from '../../writeback/stores/lmdb/log.ts'
import { openLmdbMarkEvents } from '../../subgraphs/thumbup/stores/lmdb/events.ts'
import { openLmdbPlayLog } from '../../subgraphs/feed-existence/stores/lmdb/play-log.ts'
import { openMysqlMarkRecords } from '../../subgraphs/thumbup/stores/mysql/record-store.ts'
import { openMysqlRecordStore } from '../../subgraphs/history/stores/mysql/record-store.ts'
import { openMysqlSeenRecords } from '../../subgraphs/feed-existence/stores/mysql/record-store.ts'
import { openRedisCountCache } from '../../subgraphs/thumbup/stores/redis/count-cache.ts'
import { openRedisHotStore } from '../../subgraphs/history/stores/redis/hot-store.ts'
import { openRedisMarkStore } from '../../subgraphs/thumbup/stores/redis/hot-store.ts'
import { openRedisSeenStore } from '../../subgraphs/feed-existence/stores/redis/hot-store.ts'
import { makeExistenceSubgraph, type ExistenceSubgraph } from '../../subgraphs/feed-existence/index.ts'
import { makeHistorySubgraph, type HistorySubgraph } from '../../subgraphs/history/index.ts'
import { makeThumbupSubgraph, type ThumbupSubgraph } from '../../subgraphs/thumbup/index.ts'
import { makeServer, mariadb, startMigrated, type OwnServer } from '../stores/mysql/databases.ts'
import { redisIsHere, startRedis, type TestServers } from '../../harness/deployment/redis-servers.ts'
import { makeDataFolder, type Folder } from '../subgraphs/switched-stores.ts'
import { until } from '../../harness/until.ts'

const regions = 4
const config = makeConfig([{ name: 'test', values: { stores: { regions }, history: { timelineCap: 10 } } }])
const QUICKLY = { retryMaxMs: 300, commandTimeoutMs: 500, connectTimeoutMs: 500 }
const GUARD = { checkEveryMs: 100, recordPatienceMs: 1_000 }
const BOTH = ['hotStore', 'recordStore']

const PAGE = '{ viewerHistory(first: 20) { edges { node { id } } pageInfo { hasNextPage endCursor } } }'
const LOOKUP = '{ subjects(business: "video", ids: ["a", "b"]) { viewerProgress { position } } }'
const REPORT = `mutation ($input: ReportProgressInput!) {
  reportProgress(input: $input) { outcome progress { position } subject { viewerProgress { position } } } }`
const SETTINGS = '{ historySettings { paused } }'
const ENTITY = `query ($of: [_Any!]!) { _entities(representations: $of) { ... on Video { viewerProgress { position } } } }`
const LIKES = '{ thumbupUser { likes(business: "video") { edges { node { id } } } likesReceived(business: "video") } }'
const MARKS = '{ subjects(business: "video", ids: ["a", "b"]) { viewerMark likeCount dislikeCount likers { edges { node { id } } } } }'
const UNSEEN = '{ unseen(business: "video", candidates: ["a", "b"]) { ids droppedIssued droppedStaged droppedFiltered } }'
const SEEN = '{ subjects(business: "video", ids: ["a", "b"]) { id viewerSeen } }'

type Served = HistorySubgraph | ThumbupSubgraph | ExistenceSubgraph

describe.skipIf(mariadb === undefined || !(await redisIsHere()))('with Redis and MariaDB killed,', { timeout: 90_000 }, () => {
  let redis: TestServers
  let database: OwnServer
  let folder: Folder
  let history: HistorySubgraph
  let thumbup: ThumbupSubgraph
  let existence: ExistenceSubgraph
  const closing: { close(): Promise<unknown> }[] = []
  const keep = <S extends { close(): Promise<unknown> }>(store: S): S => {
    closing.unshift(store)
    return store
  }

  beforeAll(async () => {
    redis = await startRedis()
    database = await makeServer()
    await startMigrated(database)
    folder = makeDataFolder()
    const environment = keep(openEnvironment(join(folder.path, 'stores'), { regions, sizeMaxGb: 1 }))
    const server = { url: database.url, regions, connectTimeoutMs: 500, statementTimeoutMs: 2_000 }
    const hot = { urls: redis.urls, regions, ...QUICKLY }
    const ignore = () => undefined
    history = makeHistorySubgraph(
      systemClock,
      {
        hot: keep(openRedisHotStore(hot)),
        log: keep(openLmdbLog(environment, systemClock)),
        records: keep(await openMysqlRecordStore(server)),
        journals: keep(openLmdbJournals(join(folder.path, 'history'))),
      },
      config,
      ignore,
      GUARD,
    )
    thumbup = makeThumbupSubgraph(
      systemClock,
      {
        hot: keep(openRedisMarkStore(hot)),
        cache: keep(openRedisCountCache(hot)),
        log: keep(openLmdbLog(environment, systemClock, { stream: 'marks' })),
        records: keep(await openMysqlMarkRecords(server)),
        events: keep(openLmdbMarkEvents(environment, systemClock)),
        journals: keep(openLmdbJournals(join(folder.path, 'marks'))),
      },
      config,
      ignore,
      { guard: GUARD },
    )
    existence = makeExistenceSubgraph(
      systemClock,
      {
        hot: keep(openRedisSeenStore({ ...hot, ...ringOf(config) })),
        log: keep(openLmdbPlayLog(environment, systemClock)),
        records: keep(await openMysqlSeenRecords(server)),
      },
      config,
      ignore,
      { guard: GUARD },
    )
    // They are in use before the kill.
    await report('a', 10_000)
    await ask(history, 'mutation { updateHistorySettings(input: { paused: true }) { settings { paused } } }', {}, '8')
    await ask(thumbup, 'mutation { setMark(input: { business: "video", id: "a", mark: LIKE }) { outcome } }')
    await ask(existence, 'mutation { recordIssued(input: { business: "video", ids: ["a"] }) { recorded } }')
    await Promise.all([...redis.ports.map((port) => redis.kill(port)), database.kill()])
  }, 90_000)

  afterAll(async () => {
    await Promise.all([history?.drain(), thumbup?.drain(), existence?.drain()])
    for (const store of closing) await store.close()
    await redis?.stop()
    await database?.remove()
    folder?.remove()
  }, 60_000)

  async function ask(served: Served, source: string, variableValues: Record<string, unknown> = {}, viewer = '7') {
    const degraded: Degraded = new Set()
    const contextValue = { viewer: { id: viewer, scopes: [] }, degraded, loaders: served.makeLoaders(degraded) }
    const { data, errors = [] } = await graphql({ schema: served.schema, source, variableValues, contextValue })
    return { data: data as any, errors: errors.map(({ message }) => message), degraded: [...degraded].sort() }
  }
  const report = (id: string, position: number) => ask(history, REPORT, { input: { business: 'video', id, position } })
  /** Waits until both breakers are open, so that no test depends on the order of detection. */
  const noticed = (served: Served, source: string) =>
    until('both are noticed', async () => (await ask(served, source)).degraded.length === 2)

  it('history answers empty pages, nulls and default settings, and names both stores', async () => {
    await noticed(history, PAGE)
    const page = { edges: [], pageInfo: { hasNextPage: false, endCursor: null } }
    expect(await ask(history, PAGE)).toEqual({ data: { viewerHistory: page }, errors: [], degraded: BOTH })
    expect(await ask(history, SETTINGS)).toEqual({ data: { historySettings: { paused: false } }, errors: [], degraded: BOTH })
    expect(await ask(history, LOOKUP)).toEqual({
      data: { subjects: [{ viewerProgress: null }, { viewerProgress: null }] },
      errors: [],
      degraded: BOTH,
    })
    const of = [{ __typename: 'Video', id: 'a' }]
    expect(await ask(history, ENTITY, { of })).toEqual({ data: { _entities: [{ viewerProgress: null }] }, errors: [], degraded: BOTH })
  })

  it('history accepts writes, and its settings show a pause that waits in the journal', async () => {
    const progress = { position: 20_000 }
    expect(await report('b', 20_000)).toMatchObject({
      data: { reportProgress: { outcome: 'ACCEPTED', progress, subject: { viewerProgress: progress } } },
      errors: [],
    })
    const writes = `mutation {
      updateHistorySettings(input: { paused: true }) { settings { paused } }
      clearHistory(input: { business: "comic" }) { clearedAt }
      deleteHistory(input: { business: "video", ids: ["z"] }) { deletedIds subjects { id viewerProgress { position } } }
    }`
    expect(await ask(history, writes, {}, '9')).toMatchObject({
      data: {
        updateHistorySettings: { settings: { paused: true } },
        deleteHistory: { deletedIds: [], subjects: [{ id: 'z', viewerProgress: null }] },
      },
      errors: [],
      degraded: BOTH,
    })
    expect((await ask(history, SETTINGS, {}, '9')).data).toEqual({ historySettings: { paused: true } })
  })

  it('thumbup answers null, names both stores, and accepts marks', async () => {
    await noticed(thumbup, LIKES)
    const nothing = { viewerMark: null, likeCount: null, dislikeCount: null, likers: null }
    expect(await ask(thumbup, MARKS)).toEqual({ data: { subjects: [nothing, nothing] }, errors: [], degraded: BOTH })
    expect(await ask(thumbup, LIKES)).toEqual({ data: { thumbupUser: { likes: null, likesReceived: null } }, errors: [], degraded: BOTH })
    const mark =
      'mutation { setMark(input: { business: "video", id: "b", mark: LIKE }) { outcome mark state subject { viewerMark likeCount } } }'
    expect(await ask(thumbup, mark)).toMatchObject({
      data: { setMark: { outcome: 'ACCEPTED', mark: 'LIKE', state: 'PENDING', subject: { viewerMark: 'LIKE', likeCount: null } } },
      errors: [],
    })
  })

  it('feed existence hides nothing unknown, names both stores, and accepts plays', async () => {
    await noticed(existence, UNSEEN)
    const unseen = { ids: ['a', 'b'], droppedIssued: 0, droppedStaged: 0, droppedFiltered: 0 }
    expect(await ask(existence, UNSEEN)).toEqual({ data: { unseen }, errors: [], degraded: BOTH })
    const subjects = ['a', 'b'].map((id) => ({ id, viewerSeen: null }))
    expect(await ask(existence, SEEN)).toEqual({ data: { subjects }, errors: [], degraded: BOTH })
    expect((await ask(existence, 'mutation { recordPlayed(input: { business: "video", ids: ["b"] }) { visible } }')).errors).toEqual([])
    // This process hides the plays that it accepted.
    expect((await ask(existence, UNSEEN)).data.unseen.ids).toEqual(['a'])
  })

  it('once both are back, reads are complete again and show the writes made meanwhile', async () => {
    await Promise.all([redis.start(), database.start()])
    await until('history is whole', async () => {
      const { data, degraded } = await ask(history, LOOKUP)
      return degraded.length === 0 && data.subjects[1].viewerProgress?.position === 20_000
    })
    await until('marks are whole', async () => {
      const { data, degraded } = await ask(thumbup, MARKS)
      return degraded.length === 0 && data.subjects[1].viewerMark === 'LIKE'
    })
    const settings = await ask(history, SETTINGS, {}, '9')
    expect([settings.data, settings.errors]).toEqual([{ historySettings: { paused: true } }, []])
  })
})
