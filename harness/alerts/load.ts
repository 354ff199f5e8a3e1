/**
 * A light load of every capability, as a small healthy site has it. Viewers do not wait for each other: operations start at a fixed rate,
 * so that slow answers do not make the load smaller, and their share is that of a real site. Failures are counted, not thrown.
 */
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
/** Has a field of the partner's subgraph and one of Tidemark's. */
const VIDEO = 'query Video($id: ID!) { video(id: $id) { title viewerMark } }'
const HOME = '{ homeFeed(first: 10) { edges { node { id text } } } }'

const VIEWERS = 40
const SUBJECTS = 60
/** About thirty operations a second. */
const EVERY_MS = 33
/** More than this without an answer, and no operation starts. */
const OPEN_MAX = 200

export type Load = { answered(): number; failed(): Readonly<Record<string, number>>; stop(): Promise<void> }

/** `urls`: addresses of gateways, used in turn. `hasPartner`: their graph includes the partner's subgraph. */
export function startLoad(urls: readonly string[], { hasPartner = false } = {}): Load {
  const failed: Record<string, number> = {}
  const open = new Set<Promise<void>>()
  const steps = endlessSteps(hasPartner)
  let answered = 0
  let started = 0

  async function call({ viewer, query, variables }: Step): Promise<void> {
    try {
      const { errors } = await ask(urls[started++ % urls.length] as string, viewer, query, variables)
      for (const { extensions } of errors ?? []) count(extensions.code)
      answered++
    } catch {
      count('no answer')
    }
  }
  const count = (code: string): void => void (failed[code] = (failed[code] ?? 0) + 1)

  const timer = setInterval(() => {
    if (open.size >= OPEN_MAX) return
    const calling = call(steps.next().value).finally(() => open.delete(calling))
    open.add(calling)
  }, EVERY_MS)
  return {
    answered: () => answered,
    failed: () => failed,
    async stop() {
      clearInterval(timer)
      await Promise.all(open)
    },
  }
}

type Step = { viewer: string; query: string; variables: Record<string, unknown> }

/** What one viewer after the other does. Posts need the hot store; other writes go to journals without it. */
function* endlessSteps(hasPartner: boolean): Generator<Step, never> {
  for (let turn = 0; ; turn++) {
    const viewer = String(1 + (turn % VIEWERS))
    const id = String(1 + ((turn * 7) % SUBJECTS))
    const ids = Array.from({ length: 10 }, (_, at) => String(1 + ((turn + at) % SUBJECTS)))
    yield { viewer, query: REPORT, variables: { input: { business: 'video', id, position: 10_000 + turn, duration: 3_600_000 } } }
    yield { viewer, query: COUNTS, variables: { ids } }
    yield { viewer, query: HISTORY, variables: {} }
    yield { viewer, query: MARK, variables: { input: { business: 'video', id, mark: turn % 3 === 0 ? 'NONE' : 'LIKE' } } }
    yield { viewer, query: PLAYED, variables: { input: { business: 'video', ids: [id] } } }
    yield { viewer, query: UNSEEN, variables: { ids } }
    yield turn % 2 === 0
      ? { viewer, query: PUBLISH, variables: { input: { clientKey: `load-${turn}`, text: `post ${turn}` } } }
      : { viewer, query: HOME, variables: {} }
    if (hasPartner) yield { viewer, query: VIDEO, variables: { id } }
    if (turn < VIEWERS) yield { viewer, query: FOLLOW, variables: { ids: ['1', '2', '21'] } }
  }
}
