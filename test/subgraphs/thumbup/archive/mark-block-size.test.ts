import { describe, expect, it } from 'vitest'
import { bytesPerMark } from '../../../../harness/samples/archived-bytes.ts'
import { sampleMarks, withExactTimes, withLargeIds, withTextIds, type MarkRow } from '../../../../harness/samples/archive-load.ts'

/** The minimum size of a table row and its entry in the index of likers, with integer ids. */
const ROW_BYTES = 60

const days = sampleMarks(40_000)
const exact = withExactTimes(days)

describe('the size of archived marks', () => {
  const cases: [string, MarkRow[], number][] = [
    ['small integers, times in days', days, 7],
    ['small integers, exact times', exact, 10],
    ['integers below 2^36, exact times', withLargeIds(exact), 14],
    ['25 characters, exact times', withTextIds(exact), 32],
  ]
  it.each(cases)('%s: few bytes in each of the two blocks', (what, rows, atMost) => {
    const { viewers, subjects } = bytesPerMark(rows)
    console.log(
      `${what}: ${viewers.toFixed(1)} bytes a mark in viewers' blocks, ${subjects.toFixed(1)} in subjects', a row ${ROW_BYTES} to 80`,
    )
    expect(viewers).toBeLessThan(atMost)
    expect(subjects).toBeLessThan(atMost)
  })

  it('both blocks together take less than half of a row with integer ids', () => {
    const { viewers, subjects } = bytesPerMark(withLargeIds(exact))
    expect((viewers + subjects) * 2).toBeLessThan(ROW_BYTES)
  })
})
