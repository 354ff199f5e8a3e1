/**
 * Bounds the garbage of a process. By default, V8 fills a young heap of 128 MB, and an old heap of four times its live objects, before it
 * collects. For a gateway with 30 MB of live objects, that garbage is most of the memory.
 *
 * Neither bound is a limit at which a process fails:
 * - The young generation is bounded by Node's option `--max-semi-space-size`. It must be set when a process starts, so the scripts of
 *   package.json and the Dockerfile set it.
 * - The old generation is bounded here, by its growth between two collections.
 */
import { setFlagsFromString } from 'node:v8'

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
