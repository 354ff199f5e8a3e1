/** The state of the home feed and the actions of its buttons. Every action is one call of the public API. */
import { useState } from 'preact/hooks'
import type { Identity } from '../../shared/api.ts'
import { useBeginning, type Ask, type Asking } from '../asking.ts'
import { learn } from '../facts.ts'
import { useCounts, type Connection } from '../live.ts'
import { MARK, type SetMark } from '../operations.ts'
import { COMMUNITY } from './community.ts'
import { usePosts } from './list.ts'
import { DELETE_POST, FOLLOW, PEOPLE, PUBLISH, SET_WORDS, UNFOLLOW } from './operations.ts'
import type { DeletePost, Follow, People, Post, Publish, SetWords, User } from './operations.ts'
import { fillIfEmpty } from './sample.ts'

/** `audience`: undefined for everybody. `source`: the post to share. */
export type Draft = { text: string; audience: string[] | undefined; source: Post | undefined }

export function useFeed(identity: Identity, viewer: string, asking: Asking, live: Connection) {
  const { ask, tell } = asking
  const { list, waiting, open, more, forget } = usePosts(ask, live.connection)
  const { me, people, words, setWords, readPeople, know } = usePeople(ask)
  const publish = usePublish(ask)
  /** Posts for chosen viewers that this page published: no list of the API has them for their author. */
  const [sent, setSent] = useState<readonly Post[]>([])
  const posts = list.of !== undefined && list.of === me?.id ? newestFirst([...sent, ...list.posts]) : list.posts
  useCounts(
    live,
    ask,
    'post',
    posts.map(({ id }) => id),
  )
  useBeginning(asking, identity, async (signal) => {
    if (await fillIfEmpty(identity, viewer)) tell(`${viewer} followed nobody, so a sample was written: people, their posts, and a welcome.`)
    if (!signal.aborted) await Promise.all([open(undefined), readPeople()])
  })

  return {
    ...{ list, posts, waiting, more, me, people, words },
    /** A list from its newest post on, with the counts beside it. */
    async show(of: string | undefined): Promise<void> {
      await Promise.all([open(of), readPeople()])
    },
    /** Resolves with false if the post was refused. */
    async publish(draft: Draft): Promise<boolean> {
      const post = await publish(draft)
      if (post === undefined) return false
      if (draft.audience !== undefined) setSent([...sent, post])
      tell(draft.audience === undefined ? 'Published for everybody.' : `Sent to ${draft.audience.join(', ')}. No other viewer can read it.`)
      await Promise.all([open(me?.id), readPeople()])
      return true
    },
    async remove(id: string): Promise<void> {
      const answer = await ask<DeletePost>(DELETE_POST, { id })
      const payload = answer?.data?.deletePost
      if (payload?.post == null) return
      forget(id)
      setSent(sent.filter((post) => post.id !== id))
      know(payload.author)
      tell('The post is deleted, for all readers.')
    },
    async follow(id: string, isFollowed: boolean): Promise<void> {
      const answer = await ask<Follow>(isFollowed ? UNFOLLOW : FOLLOW, { ids: [id] })
      const user = answer?.data?.changed?.results[0]?.user
      if (user == null) return
      know(user)
      await open(undefined)
    },
    async like(id: string, mark: 'LIKE' | 'NONE'): Promise<void> {
      const answer = await ask<SetMark>(MARK, { business: 'post', id, mark })
      learn([answer?.data?.setMark?.subject])
    },
    async filter(next: string[]): Promise<void> {
      const answer = await ask<SetWords>(SET_WORDS, { words: next })
      const stored = answer?.data?.setFilterWords?.filterWords
      if (stored == null) return
      setWords(stored.words)
      tell(stored.words.length === 0 ? 'No post is hidden.' : `Posts with ${stored.words.join(', ')} are hidden.`)
      await open(undefined)
    },
  }
}

function newestFirst(posts: Post[]): Post[] {
  return posts.toSorted((one, other) => (other.createdAt ?? 0) - (one.createdAt ?? 0))
}

function usePublish(ask: Ask) {
  /** The key of a draft that got no answer. The same draft is sent with the same key, and is published once. */
  const [tried, setTried] = useState<{ contents: string; clientKey: string }>()

  return async ({ text, audience, source }: Draft): Promise<Post | undefined> => {
    const contents = JSON.stringify([text, audience, source?.id])
    const clientKey = tried?.contents === contents ? tried.clientKey : newKey()
    setTried({ contents, clientKey })
    const answer = await ask<Publish>(PUBLISH, { input: { clientKey, text, audience, source: source?.id } })
    const post = answer?.data?.publishPost?.post
    if (post == null) return undefined
    setTried(undefined)
    learn([post])
    return post
  }
}

function newKey(): string {
  return [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join('-')
}

/** Users by id: the viewer, the users that the viewer follows, and those of the sample. */
function usePeople(ask: Ask) {
  const [me, setMe] = useState<User>()
  const [people, setPeople] = useState<readonly User[]>([])
  const [words, setWords] = useState<readonly string[]>([])

  async function readPeople(): Promise<void> {
    const data = (await ask<People>(PEOPLE))?.data
    if (data?.viewer == null) return
    const { viewer } = data
    const followed = viewer.following?.edges.map(({ node }) => node) ?? []
    const sample = COMMUNITY.map((_, at) => data[`person${at}`])
    const known = [...sample, ...followed].filter((user) => user != null)
    setMe(viewer)
    setPeople([...new Map(known.map((user) => [user.id, user])).values()])
    if (data.filterWords !== null) setWords(data.filterWords.words)
  }

  /** Keeps a user after `unfollow`, so that the button can be pressed again. */
  function know(user: User | null): void {
    if (user === null) return
    setMe((old) => (old?.id === user.id ? user : old))
    setPeople((old) => [...new Map([...old, user].map((each) => [each.id, each])).values()].filter(({ id }) => id !== me?.id))
  }

  return { me, people, words, setWords, readPeople, know }
}
