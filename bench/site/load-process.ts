/** The load generator: a process that sends the traffic of the site at a rate, and remembers the acknowledged writes. */
import { runOpenLoop, type Answered } from '../support/open-loop.ts'
import { answerParent, settingOf } from './child.ts'
import type { Acknowledged } from './ledger.ts'
import type { KindName } from './operations.ts'
import type { SiteSize } from './population.ts'
import { makeTraffic } from './traffic.ts'

export type LoadSetting = { urls: readonly string[]; size: SiteSize; homeViewers: readonly string[]; authors: readonly string[] }
/** `perSecond`: calls. `only`: of this kind. */
export type LoadQuestion = { perSecond: number; seconds: number; only?: KindName } | 'ledger'
export type LoadReply = { answered: Answered[] } | { ledger: Acknowledged }

/** A queue of this many seconds will not become a latency below 100 ms. */
const BEHIND_SECONDS_MAX = 1
const UNDER_WAY_MIN = 200

const { urls, size, homeViewers, authors } = settingOf<LoadSetting>()
const { ledger, requests, check } = makeTraffic(size, homeViewers, authors)

answerParent<LoadQuestion, LoadReply>(async (question) => {
  if (question === 'ledger') return { ledger }
  const { perSecond, seconds, only } = question
  const underWayMax = Math.max(UNDER_WAY_MIN, perSecond * BEHIND_SECONDS_MAX)
  const answered = await runOpenLoop(urls, requests(perSecond, seconds, only), check, {
    underWayMax,
    failed: (request) => request.failed?.(),
  })
  return { answered }
})
