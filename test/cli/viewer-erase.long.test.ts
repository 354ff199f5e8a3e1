/**
 * `tidemark viewer` in both shapes, beside the service, as a privacy officer runs it: also while the viewer writes, and with a store down.
 * The witness knows nothing of Tidemark's tables and keys: it searches the bytes of the id in all files, keys, rows and messages.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ErasureReport } from '../../cli/privacy/report.ts'
import { ask } from '../../harness/deployment/service.ts'
import { makeFeedClient } from '../support/feed-client.ts'
import { distributedIsHere, distributedShape, embeddedShape, type FeedShape } from '../support/feed-shapes.ts'
import { findEverywhere, witness } from '../support/viewer-witness.ts'

const TEXT = 'viewer-whom-nobody-may-find-again'
const INTEGER = '7654321987654321'
const DAY_MS = 86_400_000
const REPORT = 'mutation ($input: ReportProgressInput!) { reportProgress(input: $input) { outcome } }'
const MARK = 'mutation ($input: SetMarkInput!) { setMark(input: $input) { outcome } }'
const ISSUED = 'mutation ($input: RecordIssuedInput!) { recordIssued(input: $input) { userErrors { code } } }'
const PLAYED = 'mutation ($input: RecordPlayedInput!) { recordPlayed(input: $input) { userErrors { code } } }'
const OWN = 'mutation ($input: RegisterSubjectsInput!) { registerSubjects(input: $input) { results { userErrors { code } } } }'
const SET_WORDS = 'mutation ($words: [String!]!) { setFilterWords(input: {words: $words}) { filterWords { words } } }'
const COUNTS =
  'query ($ids: [ID!]!) { subjects(business: "video", ids: $ids) { likeCount dislikeCount likers(first: 10) { edges { node { id } } } } }'
/** Places with the id before an erasure. */
const WITNESSED = {
  embedded: [/^hot-viewers$/m, /^likes$/m, /^file data\/tidemark\.mdb$/m, /^file of-.*\.jsonl$/m, /^file export-of-.*\.jsonl$/m],
  // Messages of Kafka are compressed in its files.
  distributed: [/^tm:/m, /^table history$/m, /^topic tidemark\.mark$/m, /^file redis\/appendonlydir\//m, /^file mariadb\/data\/binlog/m],
}
const OPERATOR = { 'x-viewer-scopes': 'subjects:register' }

const shapes = [
  { name: 'on embedded stores', open: embeddedShape, isHere: true },
  { name: 'on Redis, Kafka, MariaDB and Memcached', open: distributedShape, isHere: await distributedIsHere() },
]

for (const { name, open, isHere } of shapes) {
  describe.skipIf(!isHere)(`tidemark viewer ${name}`, () => {
    let shape: FeedShape
    beforeAll(async () => {
      // The claimed day of a viewer is then a key of its own.
      shape = await open({ rewards: { firstView: 'viewer' } })
    })
    afterAll(() => shape?.remove())
    const client = makeFeedClient(() => shape.urls[0])
    const { data, published, follow } = client

    /** Something of every capability: persisted, archived, waiting. */
    async function live(viewer: string, other: string): Promise<void> {
      const now = Date.now()
      for (const [at, id] of ['a1', 'a2', 'a3'].entries())
        await data(viewer, REPORT, { input: { business: 'video', id, position: 60_000 + at, duration: 120_000, device: 'tv' } })
      for (const [id, mark, markedAt] of [
        ['s1', 'LIKE', now - 500 * DAY_MS],
        ['s2', 'DISLIKE', now],
        ['s3', 'LIKE', now],
      ] as const)
        await data(viewer, MARK, { input: { business: 'video', id, mark, markedAt } })
      await data(other, MARK, { input: { business: 'video', id: 's1', mark: 'LIKE' } })
      await data(viewer, ISSUED, { input: { business: 'video', ids: ['i1', 'i2'] } })
      await data(viewer, PLAYED, { input: { business: 'video', ids: ['p1'] } })
      await data(viewer, OWN, { input: { subjects: [{ business: 'video', id: `own-of-${other}`, owner: viewer }] } }, OPERATOR)
      await published(viewer, { text: 'mine' })
      await published(other, { text: 'for you', audience: [viewer] })
      await data(viewer, SET_WORDS, { words: ['spoiler'] })
      await follow(viewer, [other])
      await follow(other, [viewer])
      await shape.settled()
      const stores = await shape.openStores()
      try {
        const month = Math.floor(now / (30 * DAY_MS))
        await stores.seen.records.putFilters([{ viewer, month, filter: Buffer.from([1, 2, 3]), expected: 0, expiresAt: now + DAY_MS }])
        while ((await stores.marks.records.archiveMarks(now - 365 * DAY_MS, 100)) > 0);
      } finally {
        await stores.close()
      }
      // Not persisted when the erasure begins.
      await data(viewer, REPORT, { input: { business: 'video', id: 'fresh', position: 1_000 } })
      await data(viewer, MARK, { input: { business: 'video', id: 's4', mark: 'LIKE' } })
    }

    const countsOf = async (ids: string[]) =>
      (await data('reader', COUNTS, { ids })).subjects.map(({ likers, ...counts }: { likers: { edges: { node: { id: string } }[] } }) => ({
        ...counts,
        likers: likers.edges.map(({ node }) => node.id),
      }))
    const NOBODY = { likeCount: 0, dislikeCount: 0, likers: [] }

    for (const [viewer, other] of [
      [TEXT, 'other-of-text'],
      [INTEGER, '42'],
    ] as const) {
      test(`all data of ${viewer} is exported, and none is left anywhere after the erasure`, { timeout: 400_000 }, async () => {
        await live(viewer, other)
        const file = join(shape.folder, `of-${other}.jsonl`)
        const exported = await shape.run('viewer', 'export', viewer, '--out', file)
        expect({ status: exported.status, out: exported.out }).toEqual({ status: 0, out: '' })
        const kinds = readFileSync(file, 'utf8')
          .trim()
          .split('\n')
          .map((line) => (JSON.parse(line) as { kind: string }).kind)
        for (const kind of ['viewer', 'progress', 'mark', 'issued', 'staged', 'filter', 'post', 'received', 'words', 'follow', 'follower'])
          expect(kinds).toContain(kind)
        const folder = join(shape.folder, `export-of-${other}`)
        expect((await shape.run('export', '--out', folder)).status).toBe(0)
        const held = () => readdirSync(folder).map((each) => readFileSync(join(folder, each), 'utf8'))
        expect(held().join('\n')).toContain(viewer)

        // The witness is not blind.
        const before = (await findEverywhere(shape, viewer)).join('\n')
        for (const place of WITNESSED[shape.servers === undefined ? 'embedded' : 'distributed']) expect(before).toMatch(place)

        const reportFile = join(shape.folder, `report-of-${other}.json`)
        const erased = await shape.run('viewer', 'erase', viewer, '--report', reportFile, '--exports', file, folder)
        expect({ status: erased.status, error: erased.error }).toEqual({ status: 0, error: '' })
        const report = JSON.parse(readFileSync(reportFile, 'utf8')) as ErasureReport
        expect(report.status).toBe('COMPLETE')
        expect(JSON.stringify(report)).not.toContain(viewer)

        const verified = await shape.run('viewer', 'erase', viewer, '--verify', '--report', reportFile, '--exports', folder)
        expect({ status: verified.status, error: verified.error }).toEqual({ status: 0, error: '' })
        expect(held().join('\n')).not.toContain(viewer)
        expect(verified.out).toMatch(/^report of .*: COMPLETE, without a signature\nUNPROVEN .*\nnothing of the viewer in \d+ places\n$/)

        await shape.settled()
        const [s1, s2, s3, s4] = await countsOf(['s1', 's2', 's3', 's4'])
        const others = [TEXT, INTEGER].indexOf(viewer) === 0 ? 1 : 2
        expect(s1).toMatchObject({ likeCount: others })
        expect(s1.likers).not.toContain(viewer)
        expect([s2, s3, s4]).toEqual([NOBODY, NOBODY, NOBODY])
        expect((await shape.run('reconcile')).status).toBe(0)

        expect(await witness(shape, viewer, report)).toEqual([])
      })
    }

    /** Writes without a pause, whatever is answered. Returns a function that ends it. */
    function startWriting(viewer: string): () => Promise<void> {
      let isOver = false
      const writing = (async () => {
        for (let at = 0; !isOver; at++) {
          const id = `during-${at % 20}`
          for (const [query, input] of [
            [REPORT, { business: 'video', id, position: 5_000 + at }],
            [MARK, { business: 'video', id, mark: 'LIKE' }],
          ] as const)
            await ask(shape.urls[at % 2] as string, viewer, query, { input }).catch(() => undefined)
          await sleep(10)
        }
      })()
      return async () => {
        isOver = true
        await writing
      }
    }

    /** The viewer has stopped writing. */
    async function eraseTheRest(viewer: string, report: string): Promise<void> {
      await shape.settled()
      const last = await shape.run('viewer', 'erase', viewer, '--report', report)
      expect(last.status, last.error).toBe(0)
      const verified = await shape.run('viewer', 'erase', viewer, '--verify', '--report', report)
      expect(verified.status, verified.error).toBe(0)
      await shape.settled()
      expect(await countsOf(['s2', 's3', 's4', 'during-0', 'during-1'])).toEqual(Array.from({ length: 5 }, () => NOBODY))
      expect((await shape.run('reconcile')).status).toBe(0)
      expect(await witness(shape, viewer, JSON.parse(readFileSync(report, 'utf8')) as ErasureReport)).toEqual([])
    }

    test('an erasure ends although the viewer writes, and has everything from before it', { timeout: 400_000 }, async () => {
      const viewer = 'viewer-who-never-stops-writing'
      await live(viewer, 'other-of-writer')
      const stopWriting = startWriting(viewer)
      try {
        const first = await shape.run('viewer', 'erase', viewer)
        expect([0, 1]).toContain(first.status)
        if (first.status === 1) expect(first.error).toMatch(/^ERASURE_INCOMPLETE: /m)
        const kept = await shape.run('viewer', 'export', viewer)
        expect(kept.out).not.toMatch(/"id":"(a1|s1|s2|s3|s4|fresh)"/)
      } finally {
        await stopWriting()
      }
      await eraseTheRest(viewer, join(shape.folder, 'report-of-writer.json'))
    })

    test.skipIf(name.includes('embedded'))(
      'with a store down an erasure says so while the viewer writes, and its repetition finishes it',
      { timeout: 400_000 },
      async () => {
        const viewer = 'viewer-while-stores-are-down'
        await live(viewer, 'other-while-stores-are-down')
        const report = join(shape.folder, 'report-while-down.json')
        const stopWriting = startWriting(viewer)
        try {
          for (const [store, code] of [
            ['mariadb', 'RECORD_STORE_UNAVAILABLE'],
            ['redis', 'HOT_STORE_UNAVAILABLE'],
            ['kafka', 'LOG_UNAVAILABLE'],
          ] as const) {
            const server = shape.servers?.[store]
            await server?.kill()
            const [failed, unverified] = await Promise.all([
              shape.run('viewer', 'erase', viewer, '--report', report),
              store === 'kafka' ? undefined : shape.run('viewer', 'erase', viewer, '--verify'),
            ])
            expect({ status: failed.status, error: failed.error }).toEqual({
              status: 1,
              error: expect.stringContaining(`${code}: `) as string,
            })
            expect((JSON.parse(readFileSync(report, 'utf8')) as ErasureReport).status).toBe('INCOMPLETE')
            if (unverified !== undefined) expect(unverified.error).toContain(`${code}: `)
            await server?.start()
            // With all stores back, only new writes can be left.
            const again = await shape.run('viewer', 'erase', viewer)
            if (again.status !== 0) expect(again.error).toMatch(/^ERASURE_INCOMPLETE: /m)
          }
        } finally {
          await stopWriting()
        }
        await eraseTheRest(viewer, report)
      },
    )

    test.skipIf(!name.includes('embedded'))('after --compact no file of the stopped service has an erased id', async () => {
      await shape.stop?.()
      const erased = [TEXT, INTEGER, 'viewer-who-never-stops-writing']
      expect((await findEverywhere(shape, TEXT)).filter((place) => !place.startsWith('file '))).toEqual(['hot-feed-changes'])
      // The notes of changes reach their time.
      const stores = await shape.openStores()
      const regions = Array.from({ length: 100 }, (_, region) => region)
      while (((await stores.feed?.hot.purgeOld(regions, Date.now() + 8 * DAY_MS, 1_000)) ?? 0) > 0);
      await stores.close()
      const { status, error } = await shape.run('viewer', 'erase', TEXT, '--compact')
      expect(status, error).toBe(0)
      for (const viewer of erased) expect(await findEverywhere(shape, viewer)).toEqual([])
    })
  })
}
