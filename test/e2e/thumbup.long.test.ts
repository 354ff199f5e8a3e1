/** The short form of `npm run bench -- marks-replay`. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { writeSample } from '../../harness/samples/sample-file.ts'
import { replayMarks } from '../../cli/replay/replay-marks.ts'
import { SHAPES, forgetHot, type MarkShape } from '../../harness/samples/mark-shapes.ts'
import { service } from '../../harness/deployment/services.ts'

const kafka = await service('kafka')
const mariadb = await service('mariadb')
const redis = await service('redis')
const haveServers = [kafka, mariadb, redis].every((server) => server !== undefined)

const ROWS = 300
const SETTINGS = { flushAgeMaxMs: 100, windowMs: 200, sweepAfterMs: 1_000, sweepEveryMs: 200, publishEveryMs: 200 }
const BEFORE = { ...SETTINGS, archiveAfterDays: 'never' }
const ARCHIVING = { ...SETTINGS, archiveAfterDays: 365, purgeEveryMs: 100 }

for (const [name, start] of Object.entries(SHAPES)) {
  describe.skipIf(name === 'distributed' && !haveServers)(`recorded marks on the ${name} shape`, () => {
    let shape: MarkShape
    let folder: string
    let [file, part] = ['', '']

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'tidemark-marks-'))
      file = join(folder, 'all.tsv')
      part = join(folder, 'part.tsv')
      writeSample(file, ROWS)
      // The same rows as at the beginning: sending them again must change nothing.
      writeFileSync(
        part,
        readFileSync(file, 'utf8')
          .split('\n')
          .slice(0, ROWS / 2)
          .join('\n'),
      )
      shape = await start(BEFORE)
    })

    afterAll(async () => {
      await shape?.remove()
      rmSync(folder, { recursive: true, force: true })
    })

    async function replay(path: string, more: { wait?: boolean; verify?: boolean; verifyOnly?: boolean }) {
      const lines: string[] = []
      const options = {
        ...{ url: shape.url(), job: shape.job(), wait: true, verify: true, verifyOnly: false, business: 'video', token: undefined },
        ...{ heartbeats: 1, batch: 100, concurrency: 4, ...more },
      }
      const ok = await replayMarks(path, options, (line) => lines.push(line))
      return { ok, wrong: lines.filter((line) => line.includes('NOT EQUAL')) }
    }

    const RIGHT = { ok: true, wrong: [] }
    const measured = () => shape.withStores(({ marks }) => marks.records.measureMarks())

    test('every state, count, list and sum equals a recount, after kill -9 in the middle and sending everything again', async () => {
      await replay(part, { wait: false, verify: false })
      await shape.kill()
      await shape.start(BEFORE)
      expect(await replay(file, {})).toEqual(RIGHT)
      expect(await measured()).toMatchObject({ recent: expect.any(Number), archived: 0 })
    })

    test('archiving everything changes no answer, and an archived mark takes less', async () => {
      const before = await measured()
      await shape.kill()
      await shape.start(ARCHIVING)
      await expect.poll(async () => (await measured()).recent, { timeout: 60_000, interval: 200 }).toBe(0)
      expect(await replay(file, { verifyOnly: true })).toEqual(RIGHT)
      const after = await measured()
      expect(after.archived).toBe(before.recent)
      expect(after.archivedBytes / after.archived).toBeLessThan(before.recentBytes / before.recent)
    })

    test('everything is read from the archive when the hot store has forgotten it', async () => {
      await sleep(500)
      await shape.kill()
      await shape.withStores((stores) => forgetHot(stores, 1))
      await shape.start(ARCHIVING)
      expect(await replay(file, { verifyOnly: true })).toEqual(RIGHT)
    })

    test('a comparison finds marks made since', async () => {
      const response = await fetch(shape.url(), {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-viewer-id': 'stranger' },
        body: JSON.stringify({ query: 'mutation { setMark(input: { business: "video", id: "1", mark: LIKE }) { outcome changed } }' }),
      })
      expect(await response.json()).toEqual({ data: { setMark: { outcome: 'ACCEPTED', changed: true } } })
      await expect
        .poll(
          async () => (await replay(file, { verifyOnly: true })).wrong.map((line) => /differ|of \d+ ([a-z ]+) differ/.exec(line)?.[1]),
          {
            timeout: 60_000,
          },
        )
        .toEqual(expect.arrayContaining(['pages of counts', 'likers of subjects', 'sums of owners']))
    })
  })
}
