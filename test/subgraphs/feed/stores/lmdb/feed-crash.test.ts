/** The feed's hot store after two processes are killed: every acknowledged call is there completely, and its indexes agree. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openEnvironment } from '../../../../../stores/lmdb/environment.ts'
import { unpackIds } from '../../../../../subgraphs/feed/packed/vector.ts'
import type { FeedHotStore } from '../../../../../subgraphs/feed/stores/hot-store.ts'
import { openLmdbFeedStore } from '../../../../../subgraphs/feed/stores/lmdb/hot-store.ts'
import { makeFolder } from '../../../../stores/lmdb/folders.ts'

const WRITER = new URL('feed-crash-writer.ts', import.meta.url).pathname
const REGIONS = [...Array(100).keys()]
const AUTHORS = ['1', '2', '3', '4', '5']

type Line = { id: string; author: string; clientKey: string } | { deleted: string } | { cleared: string }
type Writer = { process: ChildProcess; lines: Line[]; errors: string[] }

function startWriter(folder: string, name: string): Writer {
  const process_ = spawn(process.execPath, [WRITER, folder, name], { stdio: ['ignore', 'pipe', 'pipe'] })
  const writer: Writer = { process: process_, lines: [], errors: [] }
  createInterface({ input: process_.stdout }).on('line', (line) => writer.lines.push(JSON.parse(line) as Line))
  createInterface({ input: process_.stderr }).on('line', (line) => writer.errors.push(line))
  return writer
}

async function killAfter(writer: Writer, lines: number): Promise<void> {
  const deadline = Date.now() + 20_000
  while (writer.lines.length < lines && writer.process.exitCode === null && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  const closed = once(writer.process, 'close')
  writer.process.kill('SIGKILL')
  await closed
  expect(writer.errors).toEqual([])
  expect(writer.lines.length).toBeGreaterThanOrEqual(lines)
}

/** Every listed id has its post in that state, and every dirty key its contents. Returns the ids of the outboxes. */
async function checkIndexes(store: FeedHotStore): Promise<Set<string>> {
  const ids = new Set<string>()
  const outboxes = await store.getOutboxMany(AUTHORS)
  for (const [index, { added, removed, version }] of outboxes.entries()) {
    const posts = await store.getPostMany([...unpackIds(added), ...unpackIds(removed)])
    expect(posts.map((post) => post?.deleted)).toEqual([...unpackIds(added).map(() => false), ...unpackIds(removed).map(() => true)])
    expect(posts.every((post) => post?.author === AUTHORS[index])).toBe(true)
    expect(version).toBe(Math.max(...posts.map((post) => post?.version ?? 0)))
    for (const post of posts) ids.add(post?.id ?? '')
  }
  const dirty = await store.listDirty(REGIONS, Number.MAX_SAFE_INTEGER, 10_000_000)
  expect(await store.countDirty()).toBe(dirty.length)
  expect((await store.readDirty(dirty)).filter((contents) => contents === undefined)).toEqual([])
  return ids
}

describe('two processes that publish and die', () => {
  let folder = makeFolder()
  beforeEach(() => {
    folder.remove()
    folder = makeFolder()
  })
  afterEach(() => folder.remove())

  it('by kill -9 keep every acknowledged call, store no partial call, and never give out an id twice', async () => {
    const lines: Line[] = []
    for (const [round, enough] of [1, 40, 15, 120].entries()) {
      const writers = ['a', 'b'].map((name) => startWriter(folder.path, `${name}${round}`))
      await Promise.all(writers.map((writer, index) => killAfter(writer, enough + index)))
      for (const writer of writers) lines.push(...writer.lines)
      const environment = openEnvironment(folder.path, { regions: 100, sizeMaxGb: 1 })
      const store = openLmdbFeedStore(environment)
      const listed = await checkIndexes(store)
      const published = lines.flatMap((line) => ('id' in line ? [line] : []))
      expect(new Set(published.map(({ id }) => id)).size).toBe(published.length)
      expect(published.filter(({ id }) => !listed.has(id))).toEqual([])
      const deleted = lines.flatMap((line) => ('deleted' in line ? [line.deleted] : []))
      expect((await store.getPostMany(deleted)).every((post) => post?.deleted)).toBe(true)
      const dirty = new Set((await store.listDirty(REGIONS, Number.MAX_SAFE_INTEGER, 10_000_000)).map(({ post }) => post))
      expect(lines.filter((line) => 'cleared' in line && dirty.has(line.cleared))).toEqual([])
      for (const { id, author, clientKey } of published) {
        const draft = { author, clientKey, text: `text of ${clientKey}`, media: [], source: undefined, audience: undefined }
        expect(await store.publish(draft, { now: Date.now(), keepMs: 1 })).toMatchObject({ status: 'repeated', post: { id } })
      }
      await environment.close()
    }
    expect(lines.filter((line) => 'id' in line).length).toBeGreaterThan(100)
    expect(lines.filter((line) => 'deleted' in line).length).toBeGreaterThan(20)
    expect(lines.filter((line) => 'cleared' in line).length).toBeGreaterThan(20)
  })
})
