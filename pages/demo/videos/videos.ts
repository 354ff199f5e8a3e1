/** The video site: a feed without repetition, a player and the history. */
import { useState } from 'preact/hooks'
import { html } from '../../shared/ui.ts'
import type { ViewProps } from '../view.ts'
import { Card } from './card.ts'
import { Player } from './player.ts'
import { useVideos } from './state.ts'

export function Videos({ identity, viewer, device, asking, live }: ViewProps) {
  const [open, setOpen] = useState<string>()
  const videos = useVideos(identity, viewer, device, asking, live)
  const actions = { open: setOpen, like: videos.like, close: () => setOpen(undefined) }
  return html`
    ${open === undefined ? null : html`<${Player} key=${open} id=${open} device=${device} reporter=${videos.reporter} actions=${actions} />`}
    <section class="panel" aria-label="Feed">
      <h2>For you</h2>
      <p class="quiet">No video is shown twice: each page calls <code>unseen</code>, and records the videos that it shows.</p>
      <ul class="cards" data-feed>
        ${videos.feed.map((id) => html`<${Card} key=${id} id=${id} actions=${actions} />`)}
      </ul>
      ${videos.isFeedOver ? html`<p role="status">The feed has shown every video. Videos that were served long ago and never watched will return.</p>` : html`<button class="primary" onClick=${() => void videos.more()}>Show more</button>`}
    </section>
    <section class="panel" aria-label="History">
      <h2>Your history</h2>
      <p>
        <label
          ><input
            type="checkbox"
            checked=${videos.paused}
            onChange=${(event: Event) => void videos.pause((event.target as HTMLInputElement).checked)}
          />
          Pause the history</label
        >${' '}
        <button onClick=${() => void videos.clear()} disabled=${videos.history.length === 0}>Clear all</button>
      </p>
      ${videos.history.length === 0 ? html`<p class="quiet">The history is empty. Watch a video.</p>` : null}
      <ul class="cards" data-history>
        ${videos.history.map((id) => html`<${Card} key=${id} id=${id} actions=${actions} remove=${videos.remove} />`)}
      </ul>
    </section>
  `
}
