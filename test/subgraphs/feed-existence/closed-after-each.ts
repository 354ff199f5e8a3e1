/** Opens stores and processes, and closes them after each test. A test file calls this once. */
import { afterEach } from 'vitest'
import { HOUR, openSeen, seenConfig, serveSeen, type Opened } from './opened.ts'

type Served = ReturnType<typeof serveSeen>

/** Starts a job whose stop is added to `closing`. */
export async function startClosedJob(
  closing: (() => Promise<void>)[],
  { clock }: Pick<Opened, 'clock'>,
  { subgraph }: Pick<Served, 'subgraph'>,
): ReturnType<Served['subgraph']['startJob']> {
  const job = await subgraph.startJob()
  closing.push(async () => {
    // The log waits by this clock, and nothing else advances it any more.
    const stopped = job.stop()
    clock.advance(HOUR)
    await stopped
  })
  return job
}

export function closedAfterEach() {
  const closing: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  function open(options: Parameters<typeof openSeen>[0] = {}, existence: object = {}) {
    const opened = openSeen(options)
    const served = serveSeen(opened, seenConfig(existence))
    closing.push(opened.close, served.stop)
    return { opened, served }
  }

  const startJob = (opened: Opened, served: Served) => startClosedJob(closing, opened, served)

  async function openWithJob(existence: object = {}) {
    const { opened, served } = open({}, existence)
    return { opened, served, job: await startJob(opened, served) }
  }

  return { closing, open, startJob, openWithJob }
}
