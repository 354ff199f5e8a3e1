/**
 * A healthy store never produces a degraded or null answer, at any load that the machine can serve. Thousands of reads that need the record
 * store run concurrently, on the real record stores of both shapes. Reads of known data use only the hot store.
 */
import { graphql } from 'graphql'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { makeConfig } from '../../config/config.ts'
import type { Degraded } from '../../core/outage/degraded.ts'
import { openMysqlMarkRecords } from '../../subgraphs/thumbup/stores/mysql/record-store.ts'
import { openMysqlRecordStore } from '../../subgraphs/history/stores/mysql/record-store.ts'
import { migrateMysql } from '../../stores/mysql/schema-version.ts'
import { openMysqlSeenRecords } from '../../subgraphs/feed-existence/stores/mysql/record-store.ts'
import { openStores, type OpenStores } from '../../cli/stores/history.ts'
import { makeExistenceSubgraph, type ExistenceSubgraph } from '../../subgraphs/feed-existence/index.ts'
import { makeHistorySubgraph, type HistorySubgraph } from '../../subgraphs/history/index.ts'
import { makeThumbupSubgraph, type ThumbupSubgraph } from '../../subgraphs/thumbup/index.ts'
import { makeDatabase, mariadb, type TestDatabase } from '../stores/mysql/databases.ts'
import { storeFilters, storeHistory, storeLikes, type Facts } from '../../harness/samples/stored-facts.ts'

const VIDEO = 1
const TIMELINE_CAP = 10
const OIDS = Array.from({ length: 13 }, (_, at) => `s${at}`)
const SINCE = 1_600_000_000_000
/** More than a limit of reads per second, or of waiting reads, may be. */
const VIEWERS = 1_200
const READERS = 200

const LIKES = '{ thumbupUser { likes(business: "video", first: 100) { edges { node { id } } pageInfo { hasNextPage } } } }'
const MARKS = 'query ($ids: [ID!]!) { subjects(business: "video", ids: $ids) { viewerMark } }'
const HISTORY = '{ viewerHistory(first: 20) { edges { node { id } } } }'
const UNSEEN = 'query ($ids: [ID!]!) { unseen(business: "video", candidates: $ids) { ids } }'

type Served = HistorySubgraph | ThumbupSubgraph | ExistenceSubgraph
type RecordStores = { records: OpenStores['records']; marks: OpenStores['marks']['records']; seen: OpenStores['seen']['records'] }

const silent = { debug() {}, info() {}, warn() {}, error() {} }

for (const shape of ['lmdb', 'mariadb'] as const) {
  describe.skipIf(shape === 'mariadb' && mariadb === undefined)(`with a healthy record store on ${shape}`, { timeout: 120_000 }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-healthy-'))
    const config = makeConfig([
      {
        name: 'test',
        values: { stores: { data: folder, regions: 4 }, history: { timelineCap: TIMELINE_CAP }, existence: { guardsResume: false } },
      },
    ])
    const calls: string[] = []
    let stores: OpenStores
    let database: TestDatabase | undefined
    let closeDatabase: () => Promise<unknown>
    let history: HistorySubgraph
    let thumbup: ThumbupSubgraph
    let existence: ExistenceSubgraph

    beforeAll(async () => {
      stores = await openStores(config, systemClock, silent)
      const { records, marks, seen } = shape === 'lmdb' ? plain(stores) : await openDatabaseStores()
      const failures: unknown[] = []
      const fail = (error: unknown) => void failures.push(error)
      history = makeHistorySubgraph(systemClock, { ...stores, records: counted('history', records) }, config, fail)
      thumbup = makeThumbupSubgraph(systemClock, { ...stores.marks, records: counted('marks', marks) }, config, fail)
      existence = makeExistenceSubgraph(systemClock, { ...stores.seen, records: counted('filters', seen) }, config, fail)
      const facts: Facts[] = Array.from({ length: VIEWERS }, (_, at) => ({ viewer: String(at + 1), oids: OIDS.slice(0, 3) }))
      await storeLikes(marks, VIDEO, facts, SINCE)
      await storeFilters(seen, VIDEO, facts)
      const readers = Array.from({ length: READERS }, (_, at) => ({ viewer: String(at + 1), oids: OIDS }))
      await storeHistory(stores.hot, records, VIDEO, readers, TIMELINE_CAP)
    }, 120_000)

    afterAll(async () => {
      await Promise.all([history.drain(), thumbup.drain(), existence.drain()])
      await closeDatabase?.()
      await stores.close()
      await database?.drop()
      rmSync(folder, { recursive: true, force: true })
    }, 60_000)

    function plain({ records, marks, seen }: OpenStores): RecordStores {
      return { records, marks: marks.records, seen: seen.records }
    }

    async function openDatabaseStores(): Promise<RecordStores> {
      database = await makeDatabase()
      await migrateMysql(database.database)
      const { url } = database
      const opened = {
        records: await openMysqlRecordStore({ url, regions: 4 }),
        marks: await openMysqlMarkRecords({ url, regions: 4 }),
        seen: await openMysqlSeenRecords({ url, regions: 4 }),
      }
      closeDatabase = () => Promise.all(Object.values(opened).map((store) => store.close()))
      return opened
    }

    /** The same store with a log of its calls. */
    function counted<S extends object>(name: string, store: S): S {
      const entries = Object.entries(store).map(([method, value]: [string, unknown]) => [
        method,
        typeof value !== 'function'
          ? value
          : (...args: unknown[]): unknown => {
              calls.push(`${name}.${method}`)
              return (value as (...given: unknown[]) => unknown)(...args)
            },
      ])
      return Object.fromEntries(entries) as S
    }

    async function ask(served: Served, viewer: string, source: string, variableValues: Record<string, unknown> = {}) {
      const degraded: Degraded = new Set()
      const contextValue = { viewer: { id: viewer, scopes: [] }, degraded, loaders: served.makeLoaders(degraded) }
      const { data, errors = [] } = await graphql({ schema: served.schema, source, variableValues, contextValue })
      return { data: data as any, errors: errors.map(({ message }) => message), degraded: [...degraded] }
    }

    /** Runs all reads concurrently. Fails with the first few wrong or degraded answers. */
    async function expectWhole(viewers: number, one: (viewer: string) => ReturnType<typeof ask>, right: (data: any) => unknown) {
      const expected = JSON.stringify({ seen: right(undefined), errors: [], degraded: [] })
      const answers = await Promise.all(Array.from({ length: viewers }, (_, at) => one(String(at + 1))))
      const wrong = answers
        .map(({ data, errors, degraded }) => JSON.stringify({ seen: data === null ? null : right(data), errors, degraded }))
        .filter((answer) => answer !== expected)
      expect({ wrong: wrong.length, such: wrong.slice(0, 3) }).toEqual({ wrong: 0, such: [] })
    }

    const liked = (data: any) => (data === undefined ? ['s2', 's1', 's0'] : data.thumbupUser?.likes?.edges.map(({ node }: any) => node.id))

    test('the likes of thousands of viewers unknown to the hot store are complete for concurrent reads', async () => {
      await expectWhole(VIEWERS, (viewer) => ask(thumbup, viewer, LIKES), liked)
    })

    test('viewers known to the hot store are answered by it alone: lists, marks and misses read the record store 0 times', async () => {
      const known = Array.from({ length: 100 }, (_, at) => String(at + 1))
      for (const viewer of known) await ask(thumbup, viewer, LIKES)
      calls.length = 0
      for (const viewer of known) {
        expect(liked((await ask(thumbup, viewer, LIKES)).data)).toEqual(['s2', 's1', 's0'])
        const { data } = await ask(thumbup, viewer, MARKS, { ids: ['s1', 'never'] })
        expect(data.subjects).toEqual([{ viewerMark: 'LIKE' }, { viewerMark: 'NONE' }])
      }
      expect(calls).toEqual([])
    })

    test('thousands of concurrent pages of history beyond the hot timeline are complete', async () => {
      calls.length = 0
      await expectWhole(
        VIEWERS,
        (viewer) => ask(history, String(1 + (Number(viewer) % READERS)), HISTORY),
        (data) => (data === undefined ? OIDS.toReversed() : data.viewerHistory?.edges.map(({ node }: any) => node.id)),
      )
      expect(calls.length).toBeGreaterThan(VIEWERS)
    })

    test('unseen is complete for thousands of concurrent viewers without cached filters', async () => {
      calls.length = 0
      await expectWhole(
        VIEWERS,
        (viewer) => ask(existence, viewer, UNSEEN, { ids: ['s0', 's1', 's2', 'never'] }),
        (data) => (data === undefined ? ['never'] : data.unseen?.ids),
      )
      expect(calls.length).toBeGreaterThan(0)
    })
  })
}
