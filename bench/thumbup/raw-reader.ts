/**
 * The peers of the reads: ioredis alone reads the same keys in its own process. Like the gateway it has two connections, and as many
 * pages in flight as the gateway has requests.
 *
 *   single   per page two pipelines of commands with a key or member each: ZSCORE, ZSCORE, HGET; GET
 *   multi    per page one pipeline of ZMSCORE, ZMSCORE and HMGET, and one MGET: the commands of our adapter, the faster peer
 *
 * It answers each `{ form, atOnce, durationMs }` with its figures, and ends with its parent.
 */
import { fork } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import { Redis } from 'ioredis'
import { makeMarkLayout } from '../../subgraphs/thumbup/stores/redis/keys.ts'
import { BUSINESS_NUMBER, type PageRequest } from './dataset.ts'

type Begin = { url: string; prefix: string; regions: number; pages: PageRequest[] }
export type RawForm = 'single' | 'multi'
type Run = { form: RawForm; atOnce: number; durationMs: number }
export type RawRound = { perSecond: number; cpuMicros: number }

export type RawReader = { run(options: Run): Promise<RawRound>; stop(): void }

export async function startRawReader(begin: Begin): Promise<RawReader> {
  const child = fork(import.meta.filename, { serialization: 'advanced', execArgv: [] })
  const answer = <T>(message: Begin | Run): Promise<T> =>
    new Promise((resolve, reject) => {
      const end = () => reject(new Error('the raw reader ended'))
      child.once('exit', end)
      child.once('message', (value) => {
        child.off('exit', end)
        resolve(value as T)
      })
      child.send(message)
    })
  await answer<string>(begin)
  return { run: (options) => answer<RawRound>(options), stop: () => void child.kill('SIGKILL') }
}

function makeReader({ url, prefix, regions, pages }: Begin) {
  const layout = makeMarkLayout(prefix, regions)
  const [marks, counts] = [new Redis(url), new Redis(url)]
  const asked = pages.map(({ viewer, oids }) => {
    const region = layout.regionOf(viewer)
    const subjects = oids.map((oid) => ({ business: BUSINESS_NUMBER, oid }))
    return {
      oids,
      likes: layout.likes(region, viewer, BUSINESS_NUMBER),
      dislikes: layout.dislikes(region, viewer, BUSINESS_NUMBER),
      others: layout.marks(region, viewer, BUSINESS_NUMBER),
      counts: subjects.flatMap((subject) => layout.keysOfCounts(layout.regionOfSubject(subject), subject)),
    }
  })
  let next = 0

  type Page = (typeof asked)[number]

  async function readSingly(page: Page): Promise<void> {
    const [states, numbers] = [marks.pipeline(), counts.pipeline()]
    for (const oid of page.oids) states.zscore(page.likes, oid).zscore(page.dislikes, oid).hget(page.others, oid)
    for (const key of page.counts) numbers.get(key)
    await Promise.all([states.hget(page.others, '').exec(), numbers.exec()])
  }

  async function readTogether(page: Page): Promise<void> {
    await Promise.all([
      marks
        .pipeline()
        .zmscore(page.likes, ...page.oids)
        .zmscore(page.dislikes, ...page.oids)
        .hmget(page.others, '', ...page.oids)
        .exec(),
      counts.mget(...page.counts),
    ])
  }

  return async ({ form, atOnce, durationMs }: Run): Promise<RawRound> => {
    const read = form === 'single' ? readSingly : readTogether
    const before = process.cpuUsage()
    const begun = performance.now()
    let done = 0
    const lane = async (): Promise<void> => {
      while (performance.now() - begun < durationMs) {
        await read(asked[next++ % asked.length] as Page)
        done++
      }
    }
    await Promise.all(Array.from({ length: atOnce }, lane))
    const { user, system } = process.cpuUsage(before)
    return { perSecond: done / ((performance.now() - begun) / 1_000), cpuMicros: (user + system) / done }
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  let run: ReturnType<typeof makeReader> | undefined
  process.on('disconnect', () => process.exit())
  process.on('message', (message: Begin | Run) => {
    if ('url' in message) {
      run = makeReader(message)
      process.send?.('ready')
    } else {
      void run?.(message).then((round) => process.send?.(round))
    }
  })
}
