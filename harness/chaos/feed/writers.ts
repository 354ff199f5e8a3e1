/**
 * The load: lanes of calls to gateways, each with its own viewers, so that the changes of one viewer are sent one after the other. Further
 * lanes only read.
 */
import type { Role } from '../../deployment/role.ts'
import { runLane, type RunningLane } from '../lane.ts'
import { makeCounting } from './counting.ts'
import { makeDevice, type FeedWriterOptions } from './device.ts'
import type { Known } from './known.ts'
import { makeReading } from './reading.ts'
import { makeWriting } from './writing.ts'

export type FeedWriters = {
  /** Resolves when the last call was answered. Rejects if no gateway answers in 30 s. */
  stop(): Promise<void>
}

/** The share of writes among the calls of a lane that writes. */
const WRITES = 0.42

export function startFeedWriters(gateways: readonly Role[], known: Known, options: FeedWriterOptions): FeedWriters {
  const lanes = Array.from({ length: options.lanes + options.readers }, (_, number) => startLane(gateways, number, known, options))
  return {
    async stop() {
      await Promise.all(lanes.map((lane) => lane.stop()))
    },
  }
}

function startLane(gateways: readonly Role[], number: number, known: Known, options: FeedWriterOptions): RunningLane {
  const device = makeDevice(gateways, number, options)
  const { publish, publishAgain, remove, follow } = makeWriting(device, known)
  const { count } = makeCounting(device, known)
  const { readPage, lookUp, readFollows } = makeReading(device, known, options.users)
  return runLane(device.lane, options.pauseMaxMs, async () => {
    // The first shares of the dice are writes.
    const dice = number < options.lanes ? device.random() : WRITES + (1 - WRITES) * device.random()
    if (dice < 0.16) await publish()
    else if (dice < 0.18) await publishAgain()
    else if (dice < 0.24) await remove()
    else if (dice < 0.32) await follow()
    else if (dice < WRITES) await count()
    else if (dice < 0.8) await readPage()
    else if (dice < 0.93) await lookUp()
    else await readFollows()
  })
}
