/** Compares answers of one list of objects with those of graphql-js. */
import { expect } from 'vitest'

type AnswerError = { message: string; path: (string | number)[]; extensions?: unknown }
export type PlainAnswer<Data = Record<string, unknown>> = { data: Data; errors?: AnswerError[] }

/** Converts the answer to JSON and back. */
export function plainAnswer<Data = Record<string, unknown>>(result: unknown): PlainAnswer<Data> {
  return JSON.parse(JSON.stringify(result)) as PlainAnswer<Data>
}

/** Once an error has made an object of the list null, graphql-js may leave out its other errors. */
function errorsOf({ data, errors = [] }: PlainAnswer): string[] {
  const itemOf = ([key = '', place]: AnswerError['path']): unknown =>
    typeof place === 'number' ? (data[key] as unknown[] | null)?.[place] : undefined
  const isLost = ({ path }: AnswerError) => itemOf(path) === null
  const lost = errors.filter(isLost).map(({ path }) => path.slice(0, 2).join('.'))
  const others = errors.flatMap((error) => {
    const { message, path, extensions } = error
    // Executors have different messages for a thrown value that is not an `Error`, and for a value that is not a list.
    const text = message
      .replace(/^(Unexpected error value).*$/su, '$1')
      .replace(/^(Expected Iterable.*|"Query\.\w+" returned a value that is not a list)$/su, 'no list')
    return isLost(error) ? [] : [`${path.join('.')}: ${text} ${JSON.stringify(extensions)}`]
  })
  return [...new Set(lost), ...others].sort()
}

export function expectSame(mine: PlainAnswer, theirs: PlainAnswer): void {
  expect(mine.data).toEqual(theirs.data)
  expect(errorsOf(mine)).toEqual(errorsOf(theirs))
}
