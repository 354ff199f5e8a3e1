/**
 * Calls of viewers while versions change. Most lanes use the business video, which no version touches. The others report to a business that
 * is added, changed and disabled. Each of their answers must be the one that the documents state for this moment.
 */
import { ask } from '../../harness/deployment/service.ts'

export type Answer = 'ACCEPTED' | 'BUSINESS_UNKNOWN' | 'BUSINESS_DISABLED'

export type Load = {
  /** Reports to this business begin. Until `expect` is called, it is unknown. */
  use(business: string): void
  /** The answers that reports to the business may get from now on. */
  expect(...answers: Answer[]): void
  /** Resolves when every lane has begun and ended a call since. */
  answered(): Promise<void>
  figures(): { calls: number; changing: number; slowestMs: number; wrong: readonly string[] }
  stop(): Promise<void>
}

const LANES = 4
const CHANGING_LANES = 2
const PAUSE_MS = 5
const REPORT = `mutation R($business: String!, $id: ID!, $position: Float!) {
  reportProgress(input: {business: $business, id: $id, position: $position, duration: 100000}) { outcome userErrors { code } }
}`
const MARK = `mutation M($id: ID!) { setMark(input: {business: "video", id: $id, mark: LIKE}) { outcome userErrors { code } } }`
const PAGE = '{ viewerHistory(first: 5) { edges { node { id } } } }'
const UNSEEN = '{ unseen(business: "video", candidates: ["1", "2", "900000"]) { ids } }'

type Field = { outcome?: string; userErrors?: readonly { code: string }[] } | null
type Answered = { data?: Record<string, Field>; errors?: unknown; extensions?: { degraded?: unknown }; failure?: string }

export function startLoad(apis: readonly string[]): Load {
  const wrong: string[] = []
  const done = Array.from({ length: LANES + CHANGING_LANES }, () => 0)
  let business: string | undefined
  let allowed: ReadonlySet<string> = new Set<Answer>(['BUSINESS_UNKNOWN'])
  let isOver = false
  let calls = 0
  let changing = 0
  let slowestMs = 0

  /** A new connection per call, so that the calls reach all workers. */
  async function answerOf(viewer: string, query: string, variables: Record<string, unknown>): Promise<Answered> {
    const begun = performance.now()
    try {
      return await ask(apis[calls++ % apis.length] as string, viewer, query, variables, { connection: 'close' })
    } catch (error) {
      return { failure: (error as Error).message }
    } finally {
      slowestMs = Math.max(slowestMs, performance.now() - begun)
    }
  }

  async function callVideo(viewer: string, round: number): Promise<void> {
    const id = String(round % 500)
    const answers = await Promise.all([
      answerOf(viewer, REPORT, { business: 'video', id, position: 60_000 + round }),
      answerOf(viewer, MARK, { id }),
      answerOf(viewer, PAGE, {}),
      answerOf(viewer, UNSEEN, {}),
    ])
    wrong.push(...answers.filter((answer) => !isWhole(answer)).map((answer) => JSON.stringify(answer).slice(0, 300)))
  }

  async function callChanging(viewer: string, round: number): Promise<void> {
    if (business === undefined) return
    const [before, named] = [allowed, business]
    const answer = await answerOf(viewer, REPORT, { business: named, id: String(round % 50), position: 10_000 + round })
    const { outcome, userErrors } = answer.data?.['reportProgress'] ?? {}
    const got: string = userErrors?.[0]?.code ?? outcome ?? JSON.stringify(answer)
    changing++
    // A call may have begun before the expectation changed.
    if (!before.has(got) && !(named === business && allowed.has(got))) wrong.push(`${named}: ${got}, not ${[...before].join(' or ')}`)
  }

  async function lane(number: number): Promise<void> {
    const viewer = String(1_000 + number)
    for (let round = 0; !isOver; round++) {
      await (number < LANES ? callVideo(viewer, round) : callChanging(viewer, round))
      done[number] = (done[number] ?? 0) + 1
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }
  const lanes = Promise.all(done.map((_, number) => lane(number)))

  return {
    use(name) {
      business = name
      allowed = new Set<Answer>(['BUSINESS_UNKNOWN'])
    },
    expect(...answers) {
      allowed = new Set(answers)
    },
    async answered() {
      const since = [...done]
      while (done.some((count, number) => count < (since[number] as number) + 2)) await new Promise((resolve) => setTimeout(resolve, 10))
    },
    figures: () => ({ calls, changing, slowestMs, wrong }),
    async stop() {
      isOver = true
      await lanes
    },
  }
}

/** No error, no refusal, and no store was missing. */
function isWhole({ data, errors, extensions }: Answered): boolean {
  if (data === undefined || errors !== undefined || extensions?.degraded !== undefined) return false
  return Object.values(data).every((field) => field !== null && (field.userErrors ?? []).length === 0)
}
