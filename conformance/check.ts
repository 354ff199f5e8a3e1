/** A check tests one guarantee of the API. This file defines checks and runs them. */
import type { Audit } from './audited.ts'
import { CheckFailed, CheckSkipped } from './outcome.ts'

export type Check = {
  /** Never changes once published: operators select checks by id. */
  id: string
  sentence: string
  /** Throws CheckFailed or CheckSkipped. */
  check(audit: Audit): Promise<void>
}

export type Finding = { check: Check } & (
  | { kind: 'ok' }
  | { kind: 'failed'; expected: string; seen: string }
  | { kind: 'skipped'; reason: string }
)

/** Runs `atOnce` checks concurrently. Passes each finding on in the order of `checks`, once all earlier ones are passed on. */
export async function runChecks(
  audit: Audit,
  checks: readonly Check[],
  atOnce: number,
  found: (finding: Finding) => void,
): Promise<Finding[]> {
  const findings: Finding[] = []
  let next = 0
  let told = 0

  async function runNext(): Promise<void> {
    while (next < checks.length) {
      const index = next++
      findings[index] = await runCheck(audit, checks[index] as Check)
      for (; findings[told] !== undefined; told++) found(findings[told] as Finding)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, runNext))
  return findings
}

async function runCheck(audit: Audit, check: Check): Promise<Finding> {
  try {
    await check.check(audit)
    return { check, kind: 'ok' }
  } catch (error) {
    if (error instanceof CheckSkipped) return { check, kind: 'skipped', reason: error.message }
    if (error instanceof CheckFailed) return { check, kind: 'failed', expected: error.expected, seen: error.seen }
    // The answer has an unexpected shape, such as an object in place of a list.
    return { check, kind: 'failed', expected: 'answers of the shape that the schema defines', seen: String(error) }
  }
}
