/** Beside the feed: the people to follow, and the filter words. */
import { useEffect, useState } from 'preact/hooks'
import { html } from '../../shared/ui.ts'
import { nameOf } from './community.ts'
import { listOf, valueOf } from './composer.ts'
import type { User } from './operations.ts'

export type PeopleProps = { people: readonly User[]; follow(id: string, isFollowed: boolean): void; openUser(id: string): void }

export function PeoplePanel({ people, follow, openUser }: PeopleProps) {
  const [id, setId] = useState('')
  function submit(event: Event): void {
    event.preventDefault()
    follow(id.trim(), false)
  }
  return html`<section class="panel" aria-label="People">
    <h2>People</h2>
    <ul class="people">
      ${people.map((user) => html`<${Person} key=${user.id} user=${user} follow=${follow} openUser=${openUser} />`)}
    </ul>
    <form class="line" onSubmit=${submit}>
      <label>Viewer to follow <input type="text" value=${id} onInput=${(event: Event) => setId(valueOf(event))} /></label>
      <button>Follow</button>
    </form>
  </section>`
}

function Person({ user, follow, openUser }: { user: User } & Omit<PeopleProps, 'people'>) {
  const { id, viewerFollows, followerCount, postCount } = user
  const isFollowed = viewerFollows === true
  return html`<li data-person=${id}>
    <span>
      <button class="name" onClick=${() => openUser(id)}>${nameOf(id)}</button>
      <span class="quiet">${counted(postCount, 'post')}, ${counted(followerCount, 'follower')}</span>
    </span>
    <button onClick=${() => follow(id, isFollowed)}>${isFollowed ? 'Unfollow' : 'Follow'}<span class="unseen"> ${nameOf(id)}</span></button>
  </li>`
}

function counted(count: number | null, what: string): string {
  return `${count ?? '–'} ${what}${count === 1 ? '' : 's'}`
}

export function FilterWords({ words, filter }: { words: readonly string[]; filter(next: string[]): void }) {
  const stored = words.join(', ')
  const [text, setText] = useState(stored)
  useEffect(() => setText(stored), [stored])
  function submit(event: Event): void {
    event.preventDefault()
    filter(listOf(text))
  }
  return html`<section class="panel" aria-label="Filter words">
    <h2>Filter words</h2>
    <form class="line" onSubmit=${submit}>
      <label
        >Hide posts with <input type="text" placeholder="rain, piano" value=${text} onInput=${(event: Event) => setText(valueOf(event))}
      /></label>
      <button>Save</button>
    </form>
  </section>`
}
