/** docs/reference/errors.md: the codes of core/errors.ts. */
import { ERRORS } from '../../core/errors.ts'
import { code, page, prose, table, type Page } from './page.ts'

const INTRODUCTION = [
  'Every GraphQL error has a code in `extensions.code`. Mutations return mistakes in their input as data: each of the `userErrors` of a payload has a `code`.',
  'Decide by the code and never by the message. `extensions.retryable` is true if the same call may succeed later.',
  'The HTTP status depends on the kind of error:',
  [
    '- If the operation runs, the status is 200, even if some of its fields have errors.',
    '- If the operation has a mistake, such as a syntax error, an unknown persisted id or a cost above the limit, the table has the status for clients that accept `application/graphql-response+json`. With `application/json` the status is 200.',
    '- If the request is refused for another reason, such as an invalid token or a rate limit, the table has the status.',
  ].join('\n'),
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
