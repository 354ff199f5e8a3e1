/** docs/reference/errors.md: the codes of core/errors.ts. */
import { ERRORS } from '../../core/errors.ts'
import { code, page, prose, table, type Page } from './page.ts'

const INTRODUCTION = [
  'Every error has a code in `extensions.code`. In a batch, the code is in the payload of the input that it concerns.',
  'Decide by the code and never by the message. `extensions.retryable` is true if the same call may succeed later.',
  'An operation that runs is answered with status 200, and so are its errors. The HTTP status of the table applies if nothing runs. Mistakes in an operation have it only if the client accepts `application/graphql-response+json`; with `application/json` they have 200. An invalid token, rate limits and limits of connections have their status with either media type.',
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
