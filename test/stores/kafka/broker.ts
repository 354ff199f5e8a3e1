/** A separate Kafka broker for a test, to kill, stop and start. Its artifacts are those of `scripts/services`. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type KafkaPorts, makeKafka } from '../../../scripts/servers/kafka.ts'
import { hasEnded, lastOutput, runningPid } from '../../../scripts/servers/processes.ts'
import { KAFKA_ARTIFACTS } from '../../../harness/deployment/services.ts'
import { freePorts } from '../../../harness/deployment/ports.ts'

/** On an idle machine it takes 3 s. */
const START_MAX_MS = 120_000

export async function makeBroker(settings: readonly string[] = [], ports?: KafkaPorts) {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-kafka-'))
  const [free = 0, freeController = 0] = await freePorts(2)
  const { port, controllerPort } = ports ?? { port: free, controllerPort: freeController }
  const kafka = makeKafka(folder, { port, controllerPort }, KAFKA_ARTIFACTS, settings)
  await kafka.install()

  async function start(): Promise<void> {
    await kafka.start()
    for (const end = Date.now() + START_MAX_MS; !(await kafka.answers()); await sleep(100)) {
      if (runningPid(folder) === undefined) throw new Error(`the broker in ${folder} ended: ${lastOutput(folder, 8)}`)
      if (Date.now() > end) throw new Error(`the broker in ${folder} does not answer: ${lastOutput(folder, 8)}`)
    }
  }

  function signal(name: NodeJS.Signals): void {
    const pid = runningPid(folder)
    if (pid !== undefined) process.kill(pid, name)
  }

  async function kill(): Promise<void> {
    signal('SIGKILL')
    while (![port, controllerPort].every((each) => hasEnded(folder, each))) await sleep(20)
  }

  async function dispose(): Promise<void> {
    await kill()
    rmSync(folder, { recursive: true, force: true })
  }

  return { address: `127.0.0.1:${port}`, port, folder, start, launch: () => kafka.start(), signal, kill, dispose }
}
