/** One request to the audited deployment and its answer. Errors in the answer are returned, not thrown: checks judge them. */
import { CheckFailed } from './outcome.ts'

export type AnswerError = { message: string; path?: readonly (string | number)[]; extensions?: { code?: string } }

/** `body` is the whole answer. `data` and `errors` are its GraphQL fields: they are known to be JSON, but their shape is not checked. */
export type Answer<Data> = { status: number; body: object; data: Data | null; errors: readonly AnswerError[] }

export type RawRequest = { method?: string; headers?: Record<string, string>; body?: string }

const ANSWER_MAX_MS = 30_000
const ACCEPT = 'application/graphql-response+json, application/json'

export function askGraphQL<Data>(
  url: string,
  headers: Record<string, string>,
  query: string,
  variables: Record<string, unknown>,
): Promise<Answer<Data>> {
  return askRaw(url, { headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify({ query, variables }) })
}

/** Throws CheckFailed if the answer is missing or is not JSON. */
export async function askRaw<Data>(url: string, request: RawRequest): Promise<Answer<Data>> {
  const { method = 'POST', headers = {}, body: sent } = request
  const { status, text } = await send(url, {
    method,
    headers: { accept: ACCEPT, ...headers },
    ...(sent === undefined ? {} : { body: sent }),
  })
  const body = parseAnswer(status, text)
  const { data, errors } = body as Partial<Answer<Data>>
  return { status, body, data: data ?? null, errors: errors ?? [] }
}

async function send(url: string, init: RequestInit): Promise<{ status: number; text: string }> {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(ANSWER_MAX_MS) })
    return { status: response.status, text: await response.text() }
  } catch (error) {
    throw new CheckFailed(`an answer from ${url}`, `none: ${reasonOf(error)}`)
  }
}

function parseAnswer(status: number, text: string): object {
  try {
    const answer: unknown = JSON.parse(text)
    if (typeof answer === 'object' && answer !== null) return answer
  } catch {
    // Reported below.
  }
  throw new CheckFailed('an answer in JSON', `status ${status} with "${text.slice(0, 200)}"`)
}

/** `fetch` puts the reason of a failure into `cause`. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : error.message
}

export function codesOf(answer: Answer<unknown>): (string | undefined)[] {
  return answer.errors.map((error) => error.extensions?.code)
}

/** A mistake in the input of a mutation. */
export type UserError = { code: string; message: string; path: string[] }

/** The mistakes that the payload of the operation's only mutation lists. */
export function userErrorsOf({ data }: Answer<unknown>): readonly UserError[] {
  const [payload] = Object.values((data ?? {}) as Record<string, { userErrors?: UserError[] } | null>)
  return payload?.userErrors ?? []
}
