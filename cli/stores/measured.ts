/** All stores of a process with their calls measured (`core/outage/store-calls.ts`). */
import type { Config } from '../../config/config.ts'
import type { StoreCalls } from '../../core/outage/store-calls.ts'
import type { SubgraphName } from '../../subgraphs/names.ts'
import type { FeedStores } from './feed.ts'
import type { OpenStores } from './history.ts'

export function measureStores(opened: OpenStores, { businesses }: Config, calls: StoreCalls): OpenStores {
  const { hot, log, records, marks, tenants, seen, feed } = opened
  const nameOf = (number: number): string => businesses.find((each) => each.number === number)?.name ?? String(number)
  const measureAll = <Stores extends object>(subgraph: SubgraphName, stores: Stores, business = ''): Stores => {
    const measured = Object.entries(stores).flatMap(([store, each]) =>
      typeof each === 'object' && each !== null ? [[store, calls.measure({ subgraph, store, business }, each as object)]] : [],
    )
    return { ...stores, ...(Object.fromEntries(measured) as Partial<Stores>) }
  }
  return {
    ...opened,
    ...measureAll('history', { hot, log, records }),
    marks: measureAll('thumbup', marks),
    tenants: new Map([...tenants].map(([number, stores]) => [number, measureAll('thumbup', stores, nameOf(number))])),
    seen: measureAll('feed-existence', seen),
    feed: feed && measureFeed(feed, calls, measureAll),
  }
}

/** The counters of the feed are a pair of stores. */
function measureFeed(
  feed: FeedStores,
  calls: StoreCalls,
  measureAll: <S extends object>(subgraph: SubgraphName, stores: S) => S,
): FeedStores {
  const { counters, ...stores } = feed
  const place = { subgraph: 'feed', business: '' }
  return {
    ...measureAll('feed', stores),
    counters: {
      ...counters,
      hot: calls.measure({ ...place, store: 'counters' }, counters.hot),
      records: calls.measure({ ...place, store: 'counterRecords' }, counters.records),
    },
  }
}
