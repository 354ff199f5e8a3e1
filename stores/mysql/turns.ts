/** Statements in the turns of a write window. Each turn ends with its statement's result. */
import { isOverload } from './failures.ts'
import type { Turn, WriteWindow } from './write-window.ts'

/** Rejects with the statement's error. */
export async function runInTurn<T>(turn: Turn, statement: () => Promise<T>): Promise<T> {
  try {
    const result = await statement()
    turn.end('done')
    return result
  } catch (error) {
    turn.end(isOverload(error) ? 'overloaded' : 'failed')
    throw error
  }
}

/**
 * Sends items in chunks: as many statements, and as large, as the window allows. `chunkOf` cuts at least one item and at most `rowsMax` from
 * `start` on. After a failure no further chunk is sent; rejects with the first failure when no statement is under way.
 */
export async function sendInTurns<T>(
  window: WriteWindow,
  items: readonly T[],
  send: (chunk: readonly T[]) => Promise<void>,
  chunkOf = (start: number, rowsMax: number): readonly T[] => items.slice(start, start + rowsMax),
): Promise<void> {
  const underWay = new Set<Promise<void>>()
  const failures: unknown[] = []
  for (let next = 0; next < items.length && failures.length === 0;) {
    const turn = await window.enter(items.length - next)
    const chunk = chunkOf(next, turn.rows)
    next += chunk.length
    const sent = runInTurn(turn, () => send(chunk))
      .catch((error: unknown) => void failures.push(error))
      .finally(() => underWay.delete(sent))
    underWay.add(sent)
  }
  await Promise.all(underWay)
  if (failures.length > 0) throw failures[0]
}
