/** The outcome of a check: it throws one of these two errors, or returns if the deployment passes. */
import { isDeepStrictEqual } from 'node:util'

const SHOWN_MAX = 400
const CUT = '…'

/** The deployment breaks the guarantee. */
export class CheckFailed extends Error {
  readonly expected: string
  readonly seen: string
  constructor(expected: string, seen: string) {
    super(`expected ${expected}, saw ${seen}`)
    this.name = 'CheckFailed'
    this.expected = expected
    this.seen = seen
  }
}

/** The check cannot run here. The message says why, and how to make it possible. */
export class CheckSkipped extends Error {
  override readonly name = 'CheckSkipped'
}

/** `what` names the value: "the position of the point lookup". */
export function expectEqual(what: string, seen: unknown, expected: unknown): void {
  if (isDeepStrictEqual(seen, expected)) return
  if (show(expected).endsWith(CUT)) expectSameParts(what, seen, expected)
  throw new CheckFailed(`${what} to be ${show(expected)}`, show(seen))
}

/** For long lists the message shows the first difference: both lists may begin alike. */
function expectSameParts(what: string, seen: unknown, expected: unknown): void {
  if (!Array.isArray(seen) || !Array.isArray(expected)) return
  expected.forEach((part, index) => expectEqual(`${what}, number ${index + 1} of ${expected.length},`, seen[index] ?? null, part))
  expectEqual(`the length of ${what}`, seen.length, expected.length)
}

/** Compares only the fields that `expected` has. */
export function expectFields(what: string, seen: object | null | undefined, expected: object): void {
  if (seen === null || seen === undefined) throw new CheckFailed(`${what} to have ${show(expected)}`, 'nothing')
  const among = Object.fromEntries(Object.keys(expected).map((name) => [name, (seen as Record<string, unknown>)[name]]))
  expectEqual(what, among, { ...expected })
}

export function expectThat(holds: boolean, expected: string, seen: unknown): void {
  if (!holds) throw new CheckFailed(expected, typeof seen === 'string' ? seen : show(seen))
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}${CUT}` : text
}
