/**
 * Bounds the garbage of a process. By default, V8 fills a young heap of 128 MB, and an old heap of four times its live objects, before it
 * collects. For a gateway with 30 MB of live objects, that garbage is most of the memory.
 *
 * Neither bound is a limit at which a process fails:
 * - The young generation is bounded by Node's option `--max-semi-space-size`. It must be set when a process starts, so the scripts of
 *   package.json and the Dockerfile set it.
 * - The old generation is bounded here, by its growth between two collections.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Clock } from '../../core/clock.ts'

/**
 * V8 observes which code creates objects that live long, and then allocates them in the old generation. The first requests run before the
 * code is compiled, so their objects live long by comparison. After an unlucky start, short-lived objects would fill the old generation
 * forever: 22 full collections instead of 2, and 50% more CPU per request (`npm run bench -- gateway`).
 */
export function makeAllYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
}

/** The heap may grow by `percent` of its live objects between two collections. 0: V8 decides. */
export function boundGarbage(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`)
}

const REST_MS = 5_000
/** A process that uses a smaller share of a core is idle. Timers alone use 0.4%. */
const REST_PART = 0.02
/** A collection also discards code that later requests compile again. */
const PAUSE_MS = 600_000
/** After a smaller growth of the heap, a collection is not worth its CPU time. */
const GROWTH = 1.25

type Collect = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void

/**
 * Collects all garbage when the process becomes idle, after its start and after a load. A start leaves code that ran once, parsed texts and
 * a young generation of full size. V8 keeps them until the heap grows. The collection takes about 100 ms, so it waits until a load ends, and it is at
 * least ten minutes after the one before.
 */
export function collectAtRest(clock: Clock, collect: () => void = collectAll): void {
  let bytes = 0

  function watch(): void {
    const before = process.cpuUsage()
    clock.after(REST_MS, () => {
      const { user, system } = process.cpuUsage(before)
      const isAtRest = (user + system) / 1_000 < REST_MS * REST_PART
      if (!isAtRest || getHeapStatistics().total_physical_size <= bytes * GROWTH) return watch()
      collect()
      bytes = getHeapStatistics().total_physical_size
      clock.after(PAUSE_MS, watch)
    })
  }

  watch()
}

function collectAll(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as Collect
  setFlagsFromString('--no-expose-gc')
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
