/**
 * Limits the load on the database: the statements in flight and the rows per statement, both by the measured latency. A slow database gets
 * lag, and never more work than it finishes.
 *
 * The limit of statements follows the rule of `core/concurrency-limit.ts`. A statement is slow if it took longer than `slowMs` or timed
 * out.
 *
 * - Statements in flight are cut first, by half, down to one: that relieves a contended database.
 * - A statement that is slow even when alone gets fewer rows, by half. If half the rows take about as long, the rows are not the cost
 *   (a slow disk, a far replica). The rows come back then, and latency has to double before the next try. Otherwise a database with slow
 *   commits would get ever smaller statements, and stop.
 * - Both grow back in the reverse order. First the rows, by 32 at a time, until a statement takes half of `slowMs`. Then the statements, by
 *   one per round.
 */
import assert from 'node:assert/strict'
import type { Clock } from '../../core/clock.ts'
import { makeConcurrencyLimit } from '../../core/concurrency-limit.ts'

export type WriteWindowOptions = {
  /** Maximum statements in flight. Minimum 1. Default 4. */
  statementsMax?: number
  /** Maximum rows per statement. 1 to 4096. Default 512. */
  rowsMax?: number
  /** Milliseconds after which a statement is slow. Minimum 1. Default 500. */
  slowMs?: number
}

export type WriteWindowFigures = {
  /** The current limit of statements in flight, and their number. */
  statementLimit: number
  inFlight: number
  /** The current limit of rows per statement. */
  rowLimit: number
  /** Statements that wait for their turn. */
  waiting: number
  /** Milliseconds, averaged over about the last ten statements. */
  latencyMs: number
  /** Statements that ended, and the slow ones among them. */
  statements: number
  slow: number
}

export type Turn = {
  /** The number of rows that this statement may have; from 1 to the wanted number. */
  rows: number
  /** Must be called once. A failure unrelated to load changes nothing. */
  end(result: 'done' | 'failed' | 'overloaded'): void
}

export type WriteWindow = {
  /** Resolves when a statement may be sent. First come, first served. */
  enter(wanted: number): Promise<Turn>
  figures(): WriteWindowFigures
}

const ROWS_MIN = 32
const ROWS_GROWTH = 32
const AVERAGED_OVER = 10

export function makeWriteWindow(clock: Clock, options: WriteWindowOptions = {}): WriteWindow {
  const { statementsMax = 4, rowsMax = 512, slowMs = 500 } = options
  const rowsMin = Math.min(ROWS_MIN, rowsMax)
  const queue: { wanted: number; resolve: (turn: Turn) => void }[] = []
  const limit = makeConcurrencyLimit(clock, { callsMax: statementsMax })
  let rowLimit = rowsMax
  let inFlight = 0
  /** The last cut of rows, until its effect is known. */
  let trial: { rows: number; latencyMs: number } | undefined
  /** Up to this latency, fewer rows did not help. */
  let toleratedMs = 0
  let latencyMs = 0
  let statements = 0
  let slow = 0

  function begin(wanted: number): Turn {
    const rows = Math.max(1, Math.min(wanted, rowLimit))
    const startedAt = clock.now()
    inFlight += 1
    const full = { statements: inFlight >= limit.calls(), rows: rows >= rowLimit }
    let ended = false
    return {
      rows,
      end(result) {
        assert(!ended, 'a turn ends once')
        ended = true
        inFlight -= 1
        statements += 1
        const tookMs = clock.now() - startedAt
        if (result === 'overloaded' || (result === 'done' && tookMs > slowMs)) answerSlow(startedAt, tookMs, rows, result === 'overloaded')
        else if (result === 'done') answerFast(tookMs, full)
        if (result !== 'failed') latencyMs += (tookMs - latencyMs) / Math.min(statements, AVERAGED_OVER)
        admit()
      },
    }
  }

  function answerFast(tookMs: number, full: { statements: boolean; rows: boolean }): void {
    trial = undefined
    toleratedMs = 0
    const mayHaveMoreRows = rowLimit < rowsMax && tookMs <= slowMs / 2
    if (!mayHaveMoreRows) limit.grow(full.statements)
    else if (full.rows) rowLimit = Math.min(rowsMax, rowLimit + ROWS_GROWTH)
  }

  function answerSlow(startedAt: number, tookMs: number, rows: number, overloaded: boolean): void {
    slow += 1
    if (limit.cut(startedAt) === 'least') cutRows(tookMs, rows, overloaded)
  }

  function cutRows(tookMs: number, rows: number, overloaded: boolean): void {
    if (overloaded) {
      rowLimit = Math.max(rowsMin, Math.floor(rowLimit / 2))
      trial = undefined
    } else if (trial !== undefined && tookMs > trial.latencyMs * 0.75) {
      rowLimit = trial.rows
      toleratedMs = tookMs * 2
      trial = undefined
    } else if (rows >= rowLimit && tookMs > toleratedMs && rowLimit > rowsMin) {
      trial = { rows: rowLimit, latencyMs: tookMs }
      rowLimit = Math.max(rowsMin, Math.floor(rowLimit / 2))
    }
  }

  function admit(): void {
    while (inFlight < limit.calls()) {
      const next = queue.shift()
      if (next === undefined) return
      next.resolve(begin(next.wanted))
    }
  }

  return {
    enter(wanted) {
      return new Promise((resolve) => {
        queue.push({ wanted, resolve })
        admit()
      })
    },
    figures: () => ({ statementLimit: limit.calls(), inFlight, rowLimit, waiting: queue.length, latencyMs, statements, slow }),
  }
}

export type MysqlFigures = WriteWindowFigures & {
  /** Rows sent in upserts. */
  rows: number
  /** Statements sent again after a deadlock or a lock timeout. */
  retries: number
}
