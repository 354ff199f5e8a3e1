/** Fetches that start together share representations, and later ones do not. The plans are written by hand, so that each case occurs. */
import type { FetchNode, FlattenNode, PlanNode, RequiresSelection } from '@graphql-hive/router-query-planner'
import { expect, it } from 'vitest'
import { compilePlan } from '../../../gateway/execution/executor.ts'
import { makeRun } from '../../../gateway/execution/run.ts'
import type { Transport } from '../../../gateway/transports/transport.ts'

type Item = Record<string, unknown>
/** Answers the representations of one call. */
type Answer = (representation: Item) => Item | null

const requiring = (...names: string[]): RequiresSelection[] => [
  {
    kind: 'InlineFragment',
    typeCondition: 'Item',
    selections: ['__typename', ...names].map((name) => ({ kind: 'Field', name })),
  } as unknown as RequiresSelection,
]

/** Fetches `field` of the items at `path`. */
function fetching(serviceName: string, field: string, requires = requiring('id'), more: Partial<FetchNode> = {}): FlattenNode {
  const operation = `query ($representations: [_Any!]!) { _entities(representations: $representations) { ... on Item { ${field} } } }`
  return { kind: 'Flatten', path: [{ Field: 'items' }, '@'], node: { kind: 'Fetch', serviceName, operation, requires, ...more } }
}

/** Runs a plan on these items. `roots`: the data of subgraphs that answer root fields. `seen`: the representations that each other subgraph got. */
async function runOn(
  plan: PlanNode,
  items: Item[],
  answers: Record<string, Answer>,
  remote: readonly string[] = [],
  roots: Record<string, object> = {},
) {
  const seen: Record<string, readonly Item[]> = {}
  const transportOf = (name: string, answer: Answer): Transport => ({
    remote: remote.includes(name),
    compile: () => ({
      run(variables) {
        if (roots[name] !== undefined) return Promise.resolve({ data: { ...roots[name] } })
        const representations = variables['representations'] as Item[]
        seen[name] = representations
        return Promise.resolve({ data: { _entities: representations.map(answer) } })
      },
      subscribe: () => Promise.reject(new Error('not a subscription')),
    }),
  })
  const transports = new Map(Object.entries(answers).map(([name, answer]) => [name, transportOf(name, answer)]))
  const { step } = compilePlan(plan, transports, (name) => new Set([name]))
  const run = makeRun({ items: items.map((item) => ({ __typename: 'Item', ...item })) }, {}, {})
  await step(run)
  return { seen, run, step, items: run.data['items'] as Item[] }
}

const parallel = (...nodes: PlanNode[]): PlanNode => ({ kind: 'Parallel', nodes })
const sequence = (...nodes: PlanNode[]): PlanNode => ({ kind: 'Sequence', nodes })
const named =
  (field: string): Answer =>
  ({ id }) => ({ [field]: `${field} of ${String(id)}` })
const THREE = [{ id: 'a' }, { id: 'b' }, { id: 'c' }]

it('fetches that start together get the same representations', async () => {
  const { seen, items } = await runOn(parallel(fetching('one', 'x'), fetching('two', 'y')), THREE, { one: named('x'), two: named('y') })
  expect(seen['one']).toEqual(THREE.map(({ id }) => ({ __typename: 'Item', id })))
  for (const [index, representation] of seen['one']?.entries() ?? []) expect(seen['two']?.[index]).toBe(representation)
  expect(items).toEqual(THREE.map(({ id }) => ({ __typename: 'Item', id, x: `x of ${id}`, y: `y of ${id}` })))
})

it('a fetch that requires other fields, or rewrites them, gets representations of its own', async () => {
  const rewrite = { ValueSetter: { path: [{ TypenameEquals: ['Item'] }, { Key: '__typename' }], setValueTo: 'Thing' } }
  const plan = parallel(
    fetching('one', 'x'),
    fetching('two', 'y', requiring('id', 'size')),
    fetching('three', 'z', requiring('id'), { inputRewrites: [rewrite] }),
  )
  const { seen } = await runOn(plan, [{ id: 'a', size: 7 }], { one: named('x'), two: named('y'), three: named('z') })
  expect(seen).toEqual({
    one: [{ __typename: 'Item', id: 'a' }],
    two: [{ __typename: 'Item', id: 'a', size: 7 }],
    three: [{ __typename: 'Thing', id: 'a' }],
  })
})

it('a remote subgraph gets a repeated entity once, beside a local one that gets each object', async () => {
  const plan = parallel(fetching('local', 'x'), fetching('remote', 'y'))
  const { seen, items } = await runOn(plan, [...THREE, { id: 'a' }], { local: named('x'), remote: named('y') }, ['remote'])
  expect([seen['local']?.length, seen['remote']?.length]).toEqual([4, 3])
  expect(items[3]).toEqual({ __typename: 'Item', id: 'a', x: 'x of a', y: 'y of a' })
})

it('a fetch that starts later gets the objects that exist when it starts', async () => {
  const owners: FlattenNode = { ...fetching('owners', 'name'), path: [{ Field: 'items' }, '@', { Field: 'owner' }] }
  const answers = {
    items: ({ id }: Item) => ({ owner: { __typename: 'Item', id: `owner of ${String(id)}` } }),
    owners: named('name'),
    early: named('name'),
  }
  const early: FlattenNode = { ...fetching('early', 'name'), path: owners.path }
  const { seen, items } = await runOn(parallel(early, sequence(fetching('items', 'owner'), owners)), THREE, answers)
  expect(seen['early']).toBeUndefined()
  expect(items[2]?.['owner']).toEqual({ __typename: 'Item', id: 'owner of c', name: 'name of owner of c' })
})

it('fetches of a sequence do not share representations', async () => {
  const more: PlanNode = { kind: 'Fetch', serviceName: 'more', operation: '{ more }', operationKind: 'query' }
  const steps = [fetching('sizes', 'size', requiring('key')), fetching('early', 'x'), more, fetching('late', 'y')]
  const answers = { sizes: named('size'), early: named('x'), late: named('y'), other: named('z'), more: named('w') }
  const withMore = { items: [...THREE, { id: 'd' }].map((item) => ({ __typename: 'Item', ...item })) }
  const keyed = THREE.map((item) => ({ ...item, key: 1 }))
  const { seen } = await runOn(parallel(sequence(...steps), fetching('other', 'z')), keyed, answers, [], { more: withMore })
  expect([seen['early']?.length, seen['late']?.length]).toEqual([3, 4])
})

it('no representations are kept after all fetches have started', async () => {
  const { seen, run, step, items } = await runOn(parallel(fetching('one', 'x')), THREE, { one: named('x') })
  items.push({ __typename: 'Item', id: 'd' })
  await step(run)
  expect(seen['one']?.length).toBe(4)
})

it.each([false, true])(
  'an object without a required field is not fetched, and the others keep their own values (remote: %s)',
  async (remote) => {
    const plan = sequence(fetching('sizes', 'size'), fetching('prices', 'price', requiring('id', 'size')))
    const answers = {
      sizes: ({ id }: Item) => (id === 'a' ? null : { size: String(id).charCodeAt(0) }),
      prices: ({ id, size }: Item) => ({ price: `${String(id)} costs ${String(size)}` }),
    }
    const { seen, items } = await runOn(plan, THREE, answers, remote ? ['sizes', 'prices'] : [])
    expect(seen['prices']?.map(({ id }) => id)).toEqual(['b', 'c'])
    expect(items.map(({ price }) => price)).toEqual([undefined, 'b costs 98', 'c costs 99'])
  },
)

it('the objects of several paths get their own values', async () => {
  const { node } = fetching('one', 'x')
  const { operation, requires = [] } = node as FetchNode
  const paths = [
    [{ Field: 'first' }, '@' as const],
    [{ Field: 'second' }, '@' as const],
  ]
  const aliases = [{ alias: '_entities', representationsVariableName: 'representations', paths, requires }]
  const plan: PlanNode = { kind: 'BatchFetch', serviceName: 'one', operation, entityBatch: { aliases } }
  const { run, step } = await runOn(plan, [], { one: named('x') })
  const item = (id: string) => ({ __typename: 'Item', id })
  Object.assign(run.data, { first: [item('a'), { __typename: 'Item' }, item('b')], second: [item('c')] })
  await step(run)
  expect(run.data).toMatchObject({ first: [{ x: 'x of a' }, { __typename: 'Item' }, { x: 'x of b' }], second: [{ x: 'x of c' }] })
})
