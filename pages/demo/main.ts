/**
 * The demo: a small video site on the public API. Its address names the viewer and the device, `/demo?viewer=ada&device=tv`, so two windows
 * are two devices of one viewer.
 */
import { render } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { TokenField, useToken } from '../shared/token.ts'
import { html } from '../shared/ui.ts'
import { Card } from './card.ts'
import { Player } from './player.ts'
import { useDemo } from './state.ts'

const VIEWERS = ['ada', 'ben', 'cleo']
const parameters = new URLSearchParams(location.search)
const device = parameters.get('device') ?? 'laptop'

function addressOf(viewer: string, ofDevice: string): string {
  return `/demo?${new URLSearchParams({ viewer, device: ofDevice }).toString()}`
}

function Demo() {
  const [viewer, setViewer] = useState(parameters.get('viewer') ?? 'ada')
  const [token, setToken] = useToken()
  const [open, setOpen] = useState<string>()
  const identity = useMemo(() => (token === '' ? { viewer } : { token }), [viewer, token])
  const demo = useDemo(identity, viewer, device)
  const actions = { open: setOpen, like: demo.like, close: () => setOpen(undefined) }
  const others = device === 'tv' ? 'phone' : 'tv'

  function choose(next: string): void {
    history.replaceState(null, '', addressOf(next, device))
    setOpen(undefined)
    setViewer(next)
  }

  return html`
    <header class="top">
      <h1>
        <a href="/"><img src="/pages/shared/mark.svg" alt="Tidemark, home" /></a>Demo
      </h1>
      <span class="right">
        <label
          >Viewer ${' '}
          <select value=${viewer} onChange=${(event: Event) => choose((event.target as HTMLSelectElement).value)}>
            ${[...new Set([...VIEWERS, viewer])].map((each) => html`<option>${each}</option>`)}
          </select>
        </label>
        ${demo.needsToken || token !== '' ? html`<${TokenField} token=${token} setToken=${setToken} />` : null}
        <a href=${addressOf(viewer, others)} target="_blank" rel="opener">Open a second device (${others})</a>
        <span class="quiet">${demo.isLive ? 'live' : demo.isRefused ? 'refused' : 'connecting…'}</span>
      </span>
    </header>
    <main>
      <div role="status" aria-live="polite">
        ${demo.notice === undefined ? null : html`<p class="banner" data-notice=${demo.notice.kind}>${demo.notice.text}</p>`}
      </div>
      ${open === undefined ? null : html`<${Player} key=${open} id=${open} device=${device} reporter=${demo.reporter} actions=${actions} />`}
      <section class="panel" aria-label="Feed">
        <h2>For you</h2>
        <p class="quiet">No video is shown twice: each page calls <code>unseen</code>, and records the videos that it shows.</p>
        <ul class="cards" data-feed>
          ${demo.feed.map((id) => html`<${Card} key=${id} id=${id} actions=${actions} />`)}
        </ul>
        ${demo.isFeedOver ? html`<p role="status">The feed has shown every video. Videos that were served long ago and never watched will return.</p>` : html`<button class="primary" onClick=${() => void demo.more()}>Show more</button>`}
      </section>
      <section class="panel" aria-label="History">
        <h2>Your history</h2>
        <p>
          <label
            ><input
              type="checkbox"
              checked=${demo.paused}
              onChange=${(event: Event) => void demo.pause((event.target as HTMLInputElement).checked)}
            />
            Pause the history</label
          >${' '}
          <button onClick=${() => void demo.clear()} disabled=${demo.history.length === 0}>Clear all</button>
        </p>
        ${demo.history.length === 0 ? html`<p class="quiet">The history is empty. Watch a video.</p>` : null}
        <ul class="cards" data-history>
          ${demo.history.map((id) => html`<${Card} key=${id} id=${id} actions=${actions} remove=${demo.remove} />`)}
        </ul>
      </section>
    </main>
  `
}

const app = document.getElementById('app') as HTMLElement
app.textContent = ''
render(html`<${Demo} />`, app)
