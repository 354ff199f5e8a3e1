/**
 * Operations with equal fetches share one compiled fetch as long as one of the operations is kept. The reference here is weak, so that
 * the fetch is collected with the last operation that uses it. Each operation counts its bytes.
 */
import type { CompiledFetch } from './transport.ts'

/** `release` is called when no operation uses the fetch any more. It must not refer to the fetch. */
export type SharedFetch = { readonly fetch: CompiledFetch; readonly release?: () => void }

export function makeSharedFetches(): (key: string, compile: () => SharedFetch) => CompiledFetch {
  const fetches = new Map<string, WeakRef<CompiledFetch>>()
  const unused = new FinalizationRegistry<{ key: string; release: (() => void) | undefined }>(({ key, release }) => {
    if (fetches.get(key)?.deref() === undefined) fetches.delete(key)
    release?.()
  })
  return (key, compile) => {
    const known = fetches.get(key)?.deref()
    if (known !== undefined) return known
    const { fetch, release } = compile()
    fetches.set(key, new WeakRef(fetch))
    unused.register(fetch, { key, release })
    return fetch
  }
}
