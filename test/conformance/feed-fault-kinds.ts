/** The kinds of faults of the feed that have a memory, or that know its lists. */
import { changing, type PlannedFault } from './fault-kinds.ts'
import { told, type Asked } from './faulty-proxy.ts'

/** The operations of the audit, by their names. */
export const ASKS = {
  publish: /AuditFeedPublish\b/,
  delete: /AuditFeedDelete\b/,
  count: /AuditFeedCount\b/,
  home: /AuditFeedHome\b/,
  userPosts: /AuditFeedUserPosts\b/,
  posts: /AuditFeedPosts\b/,
  entities: /AuditFeedEntities\b/,
  lists: /AuditFeed(Home|UserPosts|Following|Followers)\b/,
}

const listOf = (data: any) => data.homeFeed ?? data.feedUser?.posts ?? data.feedUser?.following ?? data.feedUser?.followers

/** Changes every list of the feed. */
export const listsOf = (name: string, change: (list: any, asked: Asked) => void): PlannedFault =>
  changing(name, ASKS.lists, (data, asked) => {
    const list = listOf(data)
    if (list) change(list, asked)
  })

/** Numbers that only grow, like those of a cache without versions. */
export const neverFalling = (name: string, fields: readonly string[]): PlannedFault => ({
  name,
  make: () => {
    const most = new Map<string, number>()
    return changing('', /AuditFeed(Posts|User|UserPosts)\b/, (data, { variables }) => {
      const shown: any[] = data.posts ?? [data.feedUser]
      for (const each of shown.filter(Boolean)) {
        for (const field of fields.filter((known) => typeof each[known] === 'number')) {
          const key = `${each.id ?? variables.id} ${field}`
          each[field] = Math.max(each[field], most.get(key) ?? 0)
          most.set(key, each[field])
        }
      }
    }).make()
  },
})

/** Lookups return what they returned before a deletion, like those of a cache that is not told. */
export const showsDeleted: PlannedFault = {
  name: 'shows deleted posts that were read before',
  make: () => {
    const known = new Map<string, unknown>()
    return changing('', ASKS.posts, (data, { variables }) => {
      data.posts = data.posts.map((each: any, at: number) => {
        if (each !== null) known.set(each.id, each)
        return each ?? known.get(variables.ids[at]) ?? null
      })
    }).make()
  },
}

/** Shows posts for chosen viewers to all callers of this operation. */
export const leakingFrom = (operation: RegExp): PlannedFault => ({
  name: `shows posts for chosen viewers in ${operation.source.replace(/AuditFeed|\\b/g, '')}`,
  make: () => {
    const secrets = new Map<string, any>()
    return {
      async answer(asked, forward) {
        const answer = await forward(asked)
        const { data } = answer.json ?? {}
        const published = data?.publishPost?.post
        if (published?.restricted === true) secrets.set(published.id, published)
        if (!operation.test(asked.query)) return answer
        const list = listOf(data)
        if (list) list.edges = [...[...secrets.values()].map((node) => ({ cursor: 'c', node })), ...list.edges]
        for (const shown of [data.posts, data.subjects].filter(Boolean))
          asked.variables.ids.forEach((id: string, at: number) => (shown[at] = secrets.get(id) ?? shown[at]))
        return told(answer.json, answer.status)
      },
    }
  },
})

/** Each process serves all callers as the first one of them. */
export const firstCallerForAll: PlannedFault = {
  name: 'takes all callers for the first one',
  make: () => {
    let first: string | undefined
    return {
      answer(asked, forward) {
        first ??= asked.headers['x-viewer-id']
        return forward({ ...asked, headers: { ...asked.headers, 'x-viewer-id': first ?? '' } })
      },
    }
  },
}

export const deletesForAnybody: PlannedFault = {
  name: 'deletes a post for anybody',
  make: () => {
    const authors = new Map<string, string>()
    return {
      async answer(asked, forward) {
        const author = ASKS.delete.test(asked.query) ? authors.get(asked.variables.id) : undefined
        const answer = await forward(author === undefined ? asked : { ...asked, headers: { ...asked.headers, 'x-viewer-id': author } })
        const id = answer.json?.data?.publishPost?.post?.id
        if (id !== undefined) authors.set(id, asked.headers['x-viewer-id'] ?? '')
        return answer
      },
    }
  },
}

/** Leaves out posts with filter words after the page was made, so that pages are not full. */
export const filtersPages: PlannedFault = {
  name: 'filters words without replacing the posts',
  make: () => {
    let words: string[] = []
    return {
      async answer(asked, forward) {
        if (/AuditFeedSetWords\b/.test(asked.query)) {
          words = asked.variables.words
          return told({ data: { setFilterWords: { filterWords: { words }, userErrors: [] } } })
        }
        const answer = await forward(asked)
        const list = ASKS.home.test(asked.query) ? answer.json?.data?.homeFeed : undefined
        if (!list) return answer
        const isKept = ({ node }: any) => !words.some((word) => node.text.toLowerCase().includes(word.toLowerCase()))
        list.edges = list.edges.filter(isKept)
        list.pageInfo.endCursor = list.edges.at(-1)?.cursor ?? null
        return told(answer.json, answer.status)
      },
    }
  },
}

/** Takes a rejected event that arrives again for a repetition. */
export const remembersRejected: PlannedFault = {
  name: 'remembers the keys of rejected events',
  make: () => {
    const rejected = new Set<string>()
    return changing('', ASKS.count, (data, { variables }) => {
      data.adjustCounts.results.forEach((result: any, at: number) => {
        const { key } = variables.events[at]
        if (rejected.has(key)) result.outcome = 'REPEATED'
        if (result.outcome === 'REJECTED') rejected.add(key)
      })
    }).make()
  },
}

/** The fault begins when the audit has waited for the write-back. */
export const afterWriteBack = (fault: PlannedFault): PlannedFault => ({
  name: `${fault.name} with the write-back`,
  make: () => {
    const { answer } = fault.make()
    let hasWaited = false
    return {
      async answer(asked, forward) {
        if (asked.path === '/metrics') hasWaited = true
        return hasWaited && answer !== undefined ? answer(asked, forward) : forward(asked)
      },
    }
  },
})
