/** Errors of resolvers as values. */
import { inspect } from 'node:util'

export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(`Unexpected error value: ${shown(thrown)}`, { cause: thrown })
}

function shown(thrown: unknown): string {
  try {
    return inspect(thrown, { customInspect: false })
  } catch {
    return typeof thrown
  }
}

/** The values of promises, with errors in place of rejections. */
export function valuesOf(promises: readonly Promise<unknown>[]): Promise<unknown[]> {
  return Promise.all(promises).catch(async () => {
    const settled = await Promise.allSettled(promises)
    return settled.map((each) => (each.status === 'fulfilled' ? each.value : toError(each.reason)))
  })
}
