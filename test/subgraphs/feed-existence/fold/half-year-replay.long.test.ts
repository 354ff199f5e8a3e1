/**
 * The short form of `npm run bench -- half-year`: the real stores of the embedded shape, with sample plays in the format of recorded plays.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { replayHalfYear } from '../../../../harness/half-year/replay.ts'
import { sampleRows } from '../../../../harness/samples/sample-file.ts'

test(
  'with a failing worker on embedded stores, no play comes back in its live months, and every play does after them',
  { timeout: 600_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-half-year-'))
    try {
      const report = await replayHalfYear([...sampleRows(1_200)], {
        folder,
        seed: 7,
        everybodyEveryDays: 15,
        probes: 100_000,
        progress: () => undefined,
      })
      expect(report.cameBack).toEqual([])
      expect(report.ending).toMatchObject({ shownBefore: 0 })
      expect(report.ending.hiddenBefore).toBeGreaterThan(500)
      // Every play that is still hidden is a false positive.
      expect(report.ending.hiddenAfter / report.ending.hiddenBefore).toBeLessThan(0.02)
      expect(report.writes).toMatchObject({ tooMany: 0 })
      expect(report.plays / report.writes.all).toBeGreaterThan(1.5)
      expect(report.expiry).toEqual({ purged: report.expiry.expected, expected: report.expiry.expected, outside: 0, after: 0 })
      expect(report.expiry.expected).toBeGreaterThan(50)
      expect(report.left).toBe(0)
      for (const { probes, hidden } of Object.values(report.falsePositives)) {
        expect(probes).toBeGreaterThanOrEqual(100_000)
        expect(hidden / probes).toBeLessThan(0.01)
      }
      expect(report.plays).toBeGreaterThan(2_000)
      expect(report.asked).toBeGreaterThan(100_000)
      expect(report.worker.failures).toBeGreaterThan(300)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
)
