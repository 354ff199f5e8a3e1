/** The home feed: the newest posts of the followed users, what a viewer publishes, and whom they follow. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { html } from '../../shared/ui.ts'
import type { ViewProps } from '../view.ts'
import { nameOf } from './community.ts'
import { Composer } from './composer.ts'
import type { Post } from './operations.ts'
import { FilterWords, PeoplePanel } from './people.ts'
import { PostCard } from './post.ts'
import { useFeed } from './state.ts'

const TITLE = document.title
/** A larger number is "100 or more". */
const WAITING_MAX = 100

export function Feed({ identity, viewer, asking, live }: ViewProps) {
  const feed = useFeed(identity, viewer, asking, live)
  const { list, posts, waiting, me } = feed
  const [source, setSource] = useState<Post>()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = waiting === 0 ? TITLE : `(${waiting}) ${TITLE}`
  }, [waiting])

  /** The pressed button disappears, so the keyboard continues at the heading. */
  function show(of: string | undefined): void {
    heading.current?.focus()
    void feed.show(of)
  }
  function remove(id: string): void {
    if (!confirm('Delete this post for all readers?')) return
    heading.current?.focus()
    void feed.remove(id)
  }
  const actions = { like: feed.like, share: setSource, remove, openUser: show }

  return html`<div class="sides">
    <div>
      <${Composer} source=${source} endShare=${() => setSource(undefined)} publish=${feed.publish} />
      <section class="panel" aria-label="Posts">
        <div class="actions">
          <h2 tabindex="-1" ref=${heading}>${titleOf(list.of, me?.id)}</h2>
          <button aria-pressed=${list.of === undefined} onClick=${() => show(undefined)}>Home feed</button>
          ${me === undefined ? null : html`<button aria-pressed=${list.of === me.id} onClick=${() => show(me.id)}>Your posts (${me.postCount ?? '–'})</button>`}
        </div>
        <p role="status">
          ${waiting === 0 ? null : html`<button class="primary" data-waiting onClick=${() => show(undefined)}>${waitingText(waiting)}</button>`}
        </p>
        <ul class="posts" data-posts>
          ${posts.map((post) => html`<${PostCard} key=${post.id} post=${post} me=${me?.id} actions=${actions} />`)}
        </ul>
        ${list.next === null && posts.length === 0 ? html`<p class="quiet">There are no posts here.</p>` : null}
        ${list.next == null ? null : html`<button class="primary" onClick=${() => void feed.more()}>Show more</button>`}
        ${list.next === null && posts.length > 0 ? html`<p class="quiet">There are no older posts.</p>` : null}
      </section>
    </div>
    <div>
      <${PeoplePanel} people=${feed.people} follow=${feed.follow} openUser=${show} />
      <${FilterWords} words=${feed.words} filter=${feed.filter} />
    </div>
  </div>`
}

function titleOf(of: string | undefined, me: string | undefined): string {
  if (of === undefined) return 'Home feed'
  return of === me ? 'Your posts' : `Posts of ${nameOf(of)}`
}

function waitingText(waiting: number): string {
  if (waiting >= WAITING_MAX) return `${WAITING_MAX} or more new posts`
  return `${waiting} new ${waiting === 1 ? 'post' : 'posts'}`
}
