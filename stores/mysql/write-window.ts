/**
 * How much the database is given at once: the statements in flight and the rows of a statement, both limited by the
 * latency that comes back. So a slow database gets lag, and never more work than it finishes.
 *
 * The rule is additive increase, multiplicative decrease, which is fair and settles (Chiu and Jain, "Analysis of the
 * increase and decrease algorithms for congestion avoidance in computer networks", 1989; it is what TCP does). A
 * statement is slow if it took longer than `slowMs` or ran into a timeout. As in TCP, one round of slow statements is
 * one reason to cut, and a limit that was not reached does not grow.
 *
 * - Statements in flight are cut first, by half, down to one: that is what relieves a contended database.
 * - One that is slow even when alone gets fewer rows at a time, by half. If half the rows take about as long, the cost
 *   is not in the rows (a slow disk, a far replica): the rows come back, and latency has to double before the next try.
 *   Otherwise a database with slow commits would get ever smaller statements, and stop.
 * - They grow back in the other order: rows first, 32 at a time, then statements, one per round.
 */
import assert from 'node:assert/strict'
import type { Clock } from '../../core/clock.ts'

export type WriteWindowOptions = {
  /** Statements in flight at most. Minimum 1. Default 4. */
  statementsMax?: number
  /** Rows of a statement at most. 1 to 4096. Default 512. */
  rowsMax?: number
  /** Milliseconds from which a statement is slow. Minimum 1. Default 500. */
  slowMs?: number
}

export type WriteWindowFigures = {
  /** Statements that may be in flight now, and that are. */
  statementLimit: number
  inFlight: number
  /** Rows a statement may have now. */
  rowLimit: number
  /** Statements that wait for their turn. */
  waiting: number
  /** Milliseconds, averaged over about the last ten statements. */
  latencyMs: number
  /** Statements that ended, and those of them that were slow. */
  statements: number
  slow: number
}

export type Turn = {
  /** How many rows this statement may have; at least 1, at most what was wanted. */
  rows: number
  /** Must be called once. A failure that says nothing about load changes nothing. */
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
  let statementLimit = 1
  let rowLimit = rowsMax
  let inFlight = 0
  let cutAt = -Infinity
  /** The last cut of rows, until it is known whether it helped. */
  let trial: { rows: number; latencyMs: number } | undefined
  /** Up to this latency fewer rows did not help. */
  let toleratedMs = 0
  let latencyMs = 0
  let statements = 0
  let slow = 0

  function begin(wanted: number): Turn {
    const rows = Math.max(1, Math.min(wanted, rowLimit))
    const startedAt = clock.now()
    inFlight += 1
    const full = { statements: inFlight >= Math.floor(statementLimit), rows: rows >= rowLimit }
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
    if (rowLimit < rowsMax) {
      if (full.rows && tookMs <= slowMs / 2) rowLimit = Math.min(rowsMax, rowLimit + ROWS_GROWTH)
    } else if (full.statements) statementLimit = Math.min(statementsMax, statementLimit + 1 / Math.floor(statementLimit))
  }

  function answerSlow(startedAt: number, tookMs: number, rows: number, overloaded: boolean): void {
    slow += 1
    if (startedAt < cutAt) return
    cutAt = clock.now()
    if (statementLimit > 1) statementLimit = Math.max(1, statementLimit / 2)
    else cutRows(tookMs, rows, overloaded)
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
    while (inFlight < Math.floor(statementLimit)) {
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
    figures: () => ({ statementLimit: Math.floor(statementLimit), inFlight, rowLimit, waiting: queue.length, latencyMs, statements, slow }),
  }
}
