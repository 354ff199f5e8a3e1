/** Values of resolvers for tests, and the ways in which resolvers give them. */
import * as fc from 'fast-check'

/** How a resolver gives its value. The property test generates these. */
export type Deed = { how: 'return' | 'resolve' | 'throw' | 'reject' | 'late'; value: () => unknown }
export type Deeds = Record<string, Deed>

export function perform({ how, value }: Deed): unknown {
  if (how === 'return') return value()
  if (how === 'resolve') return Promise.resolve(value())
  if (how === 'late') return new Promise((resolve) => setImmediate(() => resolve(value())))
  // oxlint-disable-next-line typescript/only-throw-error -- resolvers may throw any value
  if (how === 'throw') throw value()
  return Promise.reject(value())
}

/** A rejected promise that counts as handled: graphql-js ignores promises in a value of the wrong type, or that is not needed. */
function rejected(): Promise<never> {
  const promise = Promise.reject(new Error('late'))
  promise.catch(() => {})
  return promise
}

const leaf = fc.constantFrom<unknown>(
  null,
  undefined,
  0,
  -0,
  3,
  2.5,
  NaN,
  Infinity,
  2 ** 40,
  '',
  '7',
  'text',
  'nothing',
  true,
  false,
  1,
  'high',
  'LOW',
  {},
  10n,
)
const part = (inner: fc.Arbitrary<unknown>) => fc.record({ size: leaf, name: leaf, of: inner }, { requiredKeys: [] })
const value: fc.Arbitrary<() => unknown> = fc.oneof(
  { weight: 4, arbitrary: leaf.map((each) => () => each) },
  { weight: 2, arbitrary: part(part(leaf)).map((each) => () => each) },
  {
    weight: 2,
    arbitrary: fc.array(fc.oneof(leaf, part(leaf), fc.array(leaf, { maxLength: 3 })), { maxLength: 3 }).map((each) => () => each),
  },
  fc.constantFrom<() => unknown>(
    () => new Error('an error as a value'),
    () => new Set([1, 2]),
    () => [[1, 2], [3]],
    () => ({ size: 1, name: () => 'called' }),
    () => ({ size: Promise.resolve(4), name: rejected() }),
    () => [Promise.resolve({ name: 'n' }), { name: 'm', size: 'x' }],
    () => [{ name: 'm' }, rejected()],
    () => [[Promise.resolve(1), rejected()], null],
    () => Object.create({ size: 5, name: 'inherited' }) as unknown,
    () => new String('boxed'),
    () => () => 1,
  ),
)
export const anyDeed: fc.Arbitrary<Deed> = fc.record({
  how: fc.constantFrom('return', 'return', 'resolve', 'late', 'throw', 'reject'),
  value,
})
