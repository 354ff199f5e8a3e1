/** The versions that processes run, by their metrics, and the time until all of them run one. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Shape } from './shapes.ts'

export type Running = { version: number; isRefusing: boolean }

/** Of the workers that share one `/metrics`, those with equal settings are one entry with the oldest version. */
export async function runningVersions({ metrics }: Pick<Shape, 'metrics'>): Promise<Running[]> {
  const texts = await Promise.all(metrics.map(async (url) => (await fetch(url)).text()))
  return texts.flatMap((text) => {
    const isRefusing = /^tidemark_config_refused 1$/m.test(text)
    return [...text.matchAll(/^tidemark_config_version\{hash="\w+"\} (\d+)$/gm)].map((match) => ({ version: Number(match[1]), isRefusing }))
  })
}

const POLL_MS = 10
const PATIENCE_MS = 30_000

/** Watches from now on. `from` names the version, and resolves to milliseconds from its change to the first look at which all ran it. */
export function watchVersions(shape: Shape): { reached(version: number, changedAt: number): Promise<number>; stop(): Promise<void> } {
  const looks: { at: number; versions: readonly number[] }[] = []
  let isOver = false
  async function watch(): Promise<void> {
    while (!isOver) {
      const running = await runningVersions(shape)
      looks.push({ at: Date.now(), versions: running.map(({ version }) => version) })
      await sleep(POLL_MS)
    }
  }
  const watching = watch()
  return {
    async reached(version, changedAt) {
      for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await sleep(POLL_MS)) {
        const found = looks.find(({ at, versions }) => at >= changedAt && versions.every((each) => each === version))
        if (found !== undefined) return found.at - changedAt
      }
      return Number.POSITIVE_INFINITY
    },
    async stop() {
      isOver = true
      await watching
    },
  }
}
