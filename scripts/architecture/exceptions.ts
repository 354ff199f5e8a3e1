/**
 * Exceptions from the limits of size. The linter judges the size of files and functions (.oxlintrc.json). A function
 * that needs more carries `// oxlint-disable-next-line eslint/max-lines-per-function -- reason`. The repository may hold five such lines.
 */
import type { Repository } from '../repository.ts'
import { isModule } from './modules.ts'

const EXCEPTIONS_MAX = 5
const EXCEPTION = /^\s*(?:\/\/|\/\*)\s*(?:oxlint|eslint)-disable\S*(.*\bmax-lines\b.*)$/
const REASON = /\s--\s+\S+/

export function sizeExceptions({ files, read }: Repository): string[] {
  const found = [...files].filter(isModule).flatMap((path) =>
    read(path)
      .split('\n')
      .flatMap((line, at) => {
        const text = EXCEPTION.exec(line)?.[1]
        return text === undefined ? [] : [{ place: `${path}:${at + 1}`, hasReason: REASON.test(text) }]
      }),
  )
  return [
    ...found
      .filter(({ hasReason }) => !hasReason)
      .map(({ place }) => `${place}: the exception from a limit has no reason: add " -- " and the reason`),
    ...found.slice(EXCEPTIONS_MAX).map(({ place }) => `${place}: exception ${EXCEPTIONS_MAX + 1} or later: shorten a function instead`),
  ]
}
