/** The list of posts on the page: the home feed, or the posts of one user. It grows page by page, from cursor to cursor. */
import { useEffect, useState } from 'preact/hooks'
import type { Live } from '../../shared/api.ts'
import type { Ask } from '../asking.ts'
import { learn } from '../facts.ts'
import { HOME_FEED, POSTS_OF, SHOWN, WAITING } from './operations.ts'
import type { HomeFeed, Post, PostPage, PostsOf, Shown, Waiting } from './operations.ts'

const PAGE = 8

/** `of`: a user, or undefined for the home feed. `next`: the cursor of the next page; null at the end, undefined before the first answer. */
export type PostList = { readonly of: string | undefined; readonly posts: readonly Post[]; readonly next: string | null | undefined }

export function usePosts(ask: Ask, connection: Live | undefined) {
  const [list, setList] = useState<PostList>({ of: undefined, posts: [], next: undefined })
  /** The newest post of the home feed on this page. Null: it has none. Undefined: it was not read. */
  const [newest, setNewest] = useState<string | null>()
  const [waiting, setWaiting] = useState(0)

  useEffect(() => {
    if (newest === undefined) return undefined
    return connection?.follow<Waiting>(WAITING, { since: newest }, ({ data }) => setWaiting(data?.homeFeedChanged?.waiting ?? 0))
  }, [connection, newest])

  async function page(of: string | undefined, after?: string): Promise<PostPage | null | undefined> {
    if (of === undefined) return (await ask<HomeFeed>(HOME_FEED, { first: PAGE, after }))?.data?.homeFeed
    return (await ask<PostsOf>(POSTS_OF, { id: of, first: PAGE, after }))?.data?.feedUser?.posts
  }

  function take({ edges }: PostPage): Post[] {
    const posts = edges.flatMap(({ node }) => (node === null || node.author === null ? [] : [node]))
    learn(posts)
    return posts
  }

  /** A later page of the same list may have been asked for in the meantime, so an answer is used only if its list is still shown. */
  async function open(of: string | undefined): Promise<void> {
    setList((old) => (old.of === of ? old : { of, posts: [], next: undefined }))
    const answer = await page(of)
    if (answer == null) return
    const posts = take(answer)
    setList((old) => (old.of === of ? { of, posts, next: cursorOf(answer) } : old))
    if (of !== undefined) return
    setNewest(posts[0]?.id ?? null)
    setWaiting(0)
    await recordShown(posts)
  }

  async function more(): Promise<void> {
    const { of, next } = list
    if (next == null) return
    const answer = await page(of, next)
    if (answer == null) return
    const posts = take(answer)
    setList((old) => (old.of === of && old.next === next ? { of, posts: [...old.posts, ...posts], next: cursorOf(answer) } : old))
    if (of === undefined) await recordShown(posts)
  }

  /** From the next visit on, these posts are not new. */
  async function recordShown(posts: readonly Post[]): Promise<void> {
    const ids = posts.filter(({ viewerSeen }) => viewerSeen === null).map(({ id }) => id)
    if (ids.length > 0) await ask<Shown>(SHOWN, { ids })
  }

  return {
    ...{ list, waiting, open, more },
    forget: (id: string) => setList((old) => ({ ...old, posts: old.posts.filter((post) => post.id !== id) })),
  }
}

function cursorOf({ pageInfo }: PostPage): string | null {
  return pageInfo.hasNextPage ? pageInfo.endCursor : null
}
