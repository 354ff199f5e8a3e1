/** The like button of a video or a post, with its count. */
import { html } from '../shared/ui.ts'
import { useFacts } from './facts.ts'

export type Like = (id: string, mark: 'LIKE' | 'NONE') => void

/** `name`: of the subject, for screen readers. */
export function LikeButton({ id, name, like }: { id: string; name: string; like: Like }) {
  const { likeCount, viewerMark } = useFacts().get(id) ?? {}
  const isLiked = viewerMark === 'LIKE'
  return html`<button aria-pressed=${isLiked} onClick=${() => like(id, isLiked ? 'NONE' : 'LIKE')}>
    <span class="unseen">Like ${name}, </span>♥ <span data-likes=${id}>${likeCount ?? '–'}</span>
  </button>`
}
