/** A post in a list: author, text, the post that it shares, and its buttons. */
import { agoText, html } from '../../shared/ui.ts'
import { useFacts } from '../facts.ts'
import { LikeButton, type Like } from '../like.ts'
import { nameOf } from './community.ts'
import type { Post } from './operations.ts'

export type PostActions = { like: Like; share(post: Post): void; remove(id: string): void; openUser(id: string): void }

/** `me`: the viewer's id. */
export function PostCard({ post, me, actions }: { post: Post; me: string | undefined; actions: PostActions }) {
  const repostCount = useFacts().get(post.id)?.repostCount
  const author = post.author?.id ?? ''
  const name = `the post of ${nameOf(author)}`
  return html`<li class="post" data-post=${post.id}>
    <p class="by">
      <button class="name" onClick=${() => actions.openUser(author)}>${nameOf(author)}</button>
      ${post.createdAt === null ? null : html`<time class="quiet" datetime=${new Date(post.createdAt).toISOString()}>${agoText(post.createdAt, Date.now())}</time>`}
      ${post.restricted === true ? html`<span class="badge restricted">For chosen viewers only</span>` : null}
      ${post.viewerSeen === null && author !== me ? html`<span class="badge">New</span>` : null}
    </p>
    ${post.text === '' ? null : html`<p class="text">${post.text}</p>`}
    ${(post.media ?? []).map((address, at) => html`<p><a href=${address} target="_blank" rel="noreferrer">Picture ${at + 1}</a></p>`)}
    <${Source} post=${post} />
    <p class="actions">
      <${LikeButton} id=${post.id} name=${name} like=${actions.like} />
      ${post.restricted === true ? null : html`<button onClick=${() => actions.share(post)}>Repost<span class="unseen"> ${name}</span> ${repostCount ?? '–'}</button>`}
      ${author === me ? html`<button onClick=${() => actions.remove(post.id)}>Delete<span class="unseen"> ${name}</span></button>` : null}
    </p>
  </li>`
}

function Source({ post: { source, sourceState } }: { post: Post }) {
  if (sourceState === null) return null
  if (source?.author == null) return html`<blockquote class="quiet">The shared post was deleted.</blockquote>`
  return html`<blockquote>
    <strong>${nameOf(source.author.id)}</strong>
    <p class="text">${source.text}</p>
  </blockquote>`
}
