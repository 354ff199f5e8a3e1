/** A light load of every capability, as a small healthy site has it: about forty operations a second. Failures are counted, not thrown. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ask } from '../deployment/service.ts'

const REPORT = 'mutation Report($input: ReportProgressInput!) { reportProgress(input: $input) { outcome } }'
const HISTORY = '{ viewerHistory(first: 10) { edges { node { id viewerProgress { position } } } } }'
const MARK = 'mutation Mark($input: SetMarkInput!) { setMark(input: $input) { outcome } }'
const COUNTS =
  'query Counts($ids: [ID!]!) { subjects(business: "video", ids: $ids) { id likeCount viewerMark viewerProgress { position } } }'
const PLAYED = 'mutation Played($input: RecordPlayedInput!) { recordPlayed(input: $input) { recordedCount } }'
const UNSEEN = 'query Unseen($ids: [ID!]!) { unseen(business: "video", candidates: $ids) { ids } }'
const PUBLISH = 'mutation Publish($input: PublishPostInput!) { publishPost(input: $input) { post { id } } }'
const FOLLOW = 'mutation Follow($ids: [ID!]!) { follow(input: {ids: $ids}) { results { outcome } } }'
const HOME = '{ homeFeed(first: 10) { edges { node { id text } } } }'

const VIEWERS = 40
const SUBJECTS = 60
const PAUSE_MS = 100
const LANES = 4

export type Load = { answered(): number; failed(): Readonly<Record<string, number>>; stop(): Promise<void> }

/** `urls`: of gateways, which take turns. */
export function startLoad(urls: readonly string[]): Load {
  const failed: Record<string, number> = {}
  let answered = 0
  let round = 0
  let stopped = false

  async function call(viewer: string, query: string, variables: Record<string, unknown>): Promise<void> {
    try {
      const { errors } = await ask(urls[round % urls.length] as string, viewer, query, variables)
      for (const { extensions } of errors ?? []) count(extensions.code)
      answered++
    } catch {
      count('no answer')
    }
  }
  const count = (code: string): void => void (failed[code] = (failed[code] ?? 0) + 1)

  async function lane(): Promise<void> {
    while (!stopped) {
      const turn = round++
      const viewer = String(1 + (turn % VIEWERS))
      const id = String(1 + ((turn * 7) % SUBJECTS))
      const ids = Array.from({ length: 10 }, (_, at) => String(1 + ((turn + at) % SUBJECTS)))
      const steps: (readonly [string, Record<string, unknown>])[] = [
        [REPORT, { input: { business: 'video', id, position: 10_000 + turn, duration: 3_600_000 } }],
        [COUNTS, { ids }],
        [HISTORY, {}],
        [MARK, { input: { business: 'video', id, mark: turn % 3 === 0 ? 'NONE' : 'LIKE' } }],
        [PLAYED, { input: { business: 'video', ids: [id] } }],
        [UNSEEN, { ids }],
        [turn % 20 === 0 ? PUBLISH : HOME, turn % 20 === 0 ? { input: { clientKey: `load-${turn}`, text: `post ${turn}` } } : {}],
        ...(turn < VIEWERS ? [[FOLLOW, { ids: ['1', '2', '21'] }] as const] : []),
      ]
      for (const [query, variables] of steps) {
        if (stopped) return
        await call(viewer, query, variables)
        await sleep(PAUSE_MS)
      }
    }
  }
  const lanes = Array.from({ length: LANES }, lane)
  return {
    answered: () => answered,
    failed: () => failed,
    async stop() {
      stopped = true
      await Promise.all(lanes)
    },
  }
}
