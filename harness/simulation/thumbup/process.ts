/**
 * A process of the deployment, which runs the real code of thumbup: the whole pipeline, the service, the reads and the job. It is wired as
 * in the subgraph, over ports that lead through the scheduler.
 */
import { noteLack, type Degraded } from '../../../core/outage/degraded.ts'
import type { MarkKey, Subject, SubjectCounts } from '../../../core/domain.ts'
import type { Random } from '../../../core/random.ts'
import type { OwnerKey } from '../../../loaders/owner-likes.ts'
import { getMarkMany, type ShownMark } from '../../../loaders/marks.ts'
import type { MarkRecords } from '../../../subgraphs/thumbup/stores/record-store.ts'
import { FOR_EVERYBODY } from '../../../subgraphs/audience.ts'
import { makeThumbupBusinesses } from '../../../subgraphs/thumbup/businesses.ts'
import type { ThumbupReads } from '../../../subgraphs/thumbup/context.ts'
import { makeLikersRead, type LikersAsked } from '../../../subgraphs/thumbup/read/likers.ts'
import { readLikes, type MarkPage } from '../../../subgraphs/thumbup/read/likes.ts'
import { makePipeline, type PipelineOptions } from '../../../subgraphs/thumbup/write/pipeline.ts'
import { makeThumbupService, type ThumbupService } from '../../../subgraphs/thumbup/write/service.ts'
import type { MarkRecordsState } from '../../models/thumbup/record-rows.ts'
import type { MarkStoreState } from '../../models/thumbup/hot-store-model.ts'
import { openModelJournals, type Machine } from '../model-journals.ts'
import { openModelLog, type LogState, type Member } from '../model-log.ts'
import type { Role } from '../places.ts'
import type { Life } from '../life.ts'
import type { Scheduler } from '../scheduler.ts'
import { openModelCountCache, type CountCacheState } from './model-count-cache.ts'
import { openModelMarkEvents, type MarkEventsState } from './model-events.ts'
import { openSimulatedMarkRecords, type MarkTransactionFaults } from './model-records.ts'
import { openModelMarkStore } from './model-store.ts'
import { makeQuestions, startUntilJoined } from '../processes.ts'

export type MarkWorldStores = {
  hot: MarkStoreState
  cache: CountCacheState
  log: LogState
  records: MarkRecordsState
  events: MarkEventsState
  faults: MarkTransactionFaults
  changed(name: keyof MarkRecords, args: readonly unknown[]): void
}

export type MarkProcess = Role & {
  life: Life
  service: ThumbupService
  getMarks(keys: readonly MarkKey[], degraded: Degraded): Promise<(ShownMark | null)[]>
  getCounts(subjects: readonly Subject[], degraded: Degraded): Promise<(SubjectCounts | null)[]>
  getOwnerLikes(owners: readonly OwnerKey[], degraded: Degraded): Promise<(number | null)[]>
  likes: ThumbupReads['likes']
  likers(asked: LikersAsked, degraded: Degraded): Promise<MarkPage | null>
  member(): Member | undefined
  /** Drains and stops the process. All accepted work is done when this resolves. */
  stop(): Promise<void>
}

const NO_QUOTAS = { admit: () => undefined, fullFor: () => undefined }

export function startMarkProcess(
  scheduler: Scheduler,
  random: Random,
  stores: MarkWorldStores,
  machine: Machine,
  businesses: PipelineOptions['businesses'],
  life: Life,
  role: Role,
  options: PipelineOptions,
  onError: (error: unknown) => void,
): MarkProcess {
  const gate = scheduler.gateOf(life)
  const clock = scheduler.clockOf(life)
  let member: Member | undefined
  const { noted, checked, settled } = makeQuestions()
  const hot = checked(openModelMarkStore(stores.hot, gate))
  const cache = checked(openModelCountCache(stores.cache, gate))
  const records = withQuestionsNoted(checked(openSimulatedMarkRecords(stores.records, gate, stores.faults, stores.changed)))
  const events = openModelMarkEvents(stores.events, gate)
  const log = checked(
    openModelLog(stores.log, gate, clock, (joined) => {
      member = joined
    }),
  )
  const journals = role.serves ? openModelJournals(machine, gate, life) : undefined
  const pipeline = makePipeline(clock, random, { hot, cache, log, records, events, journals }, options, onError)
  const service = makeThumbupService(clock, makeThumbupBusinesses(businesses), () => pipeline, NO_QUOTAS, FOR_EVERYBODY)
  const { guarded, fills, counts, writes } = pipeline
  const { mayLack } = writes
  const sources = { ...guarded, fills, mayLack }
  const job = role.persists ? startUntilJoined(clock, () => pipeline.startJob(), onError) : undefined

  function withQuestionsNoted(all: MarkRecords): MarkRecords {
    return {
      ...all,
      getMarkMany: (keys) => noted(all.getMarkMany(keys)),
      listMarks: (viewer, business, marks, before, limit) => noted(all.listMarks(viewer, business, marks, before, limit)),
      listLikers: (subject, before, limit) => noted(all.listLikers(subject, before, limit)),
      getCountsMany: (subjects) => noted(all.getCountsMany(subjects)),
      getOwnerSums: (owners) => noted(all.getOwnerSums(owners)),
      registerSubjects: (registrations) => noted(all.registerSubjects(registrations)),
    }
  }

  const readLikers = makeLikersRead(clock, { ...guarded, fills, counts, mayLack })
  return {
    ...role,
    life,
    service,
    async getMarks(keys, degraded) {
      noteLack(keys, mayLack, degraded)
      return getMarkMany(sources, keys, degraded)
    },
    getCounts: (subjects, degraded) => counts.getMany(subjects, degraded),
    getOwnerLikes: async (owners, degraded) => (await pipeline.owners.getMany(owners, degraded)).map((sum) => sum?.likes ?? null),
    likes: (viewer, business, before, first, degraded) => readLikes(sources, viewer, business, before, first, degraded),
    async likers(asked, degraded) {
      const [page] = await readLikers([asked], degraded)
      if (page instanceof Error) throw page
      return page ?? null
    },
    member: () => member,
    async stop() {
      await pipeline.drain()
      await (await job)?.stop().catch(onError)
      await journals?.close()
      await settled()
    },
  }
}
