/** docs/reference/errors.md: the codes of core/errors.ts. */
import { ERRORS } from '../../core/errors.ts'
import { code, page, prose, table, type Page } from './page.ts'

const INTRODUCTION = [
  'Every error has a code in `extensions.code`. In a batch, the code is in the payload of the input that it concerns.',
  'Clients decide by the code and never by the message. `extensions.retryable` is true if the same call may succeed later. The HTTP status applies if the whole request fails.',
]

export function errorsPage(): Page {
  const rows = Object.entries(ERRORS).map(([name, { meaning, status, retryable }]) => [
    code(name),
    prose(meaning),
    String(status),
    retryable ? 'yes' : 'no',
  ])
  return page('docs/reference/errors.md', 1, 'Errors', [...INTRODUCTION, table(['code', 'meaning', 'HTTP status', 'retryable'], rows)])
}
