/** A video in a list: its picture with the viewer's progress, and the like button with its count. */
import { agoText, clockText, html } from '../../shared/ui.ts'
import { useFacts } from '../facts.ts'
import { LikeButton, type Like } from '../like.ts'
import { videoOf, type Video } from './catalogue.ts'

export type CardActions = { open(id: string): void; like: Like }

export function Picture({ video, position }: { video: Video; position: number | undefined }) {
  const share = position === undefined ? 0 : Math.min(100, (position / video.durationMs) * 100)
  return html`<span class="picture" style=${`--hue: ${video.hue}`}>
    <span class="length">${clockText(video.durationMs)}</span>
    ${share === 0 ? null : html`<span class="watched" style=${`width: ${share}%`}></span>`}
  </span>`
}

export function Card({ id, actions, remove }: { id: string; actions: CardActions; remove?: (id: string) => void }) {
  const video = videoOf(id)
  const progress = useFacts().get(id)?.viewerProgress
  if (video === undefined) return null
  return html`<li class="card">
    <button class="cover" onClick=${() => actions.open(id)}>
      <span class="unseen">Watch ${video.title}, </span>
      <${Picture} video=${video} position=${progress?.position} />
    </button>
    <span class="title">${video.title}</span>
    <span class="quiet"
      >${video.channel}${progress == null ? '' : ` · ${progress.finished ? 'watched' : `at ${clockText(progress.position)}`}${progress.device == null ? '' : ` on ${progress.device}`}, ${agoText(progress.viewedAt, Date.now())}`}</span
    >
    <span class="actions">
      <${LikeButton} id=${id} name=${video.title} like=${actions.like} />
      ${remove === undefined ? null : html`<button onClick=${() => remove(id)}>Remove<span class="unseen"> ${video.title} from the history</span></button>`}
    </span>
  </li>`
}
