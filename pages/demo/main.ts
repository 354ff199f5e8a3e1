/**
 * The demo: a home feed of posts and a small video site, on the public API. Its address names the view, the viewer and the device, such as
 * `/demo?view=videos&viewer=ada&device=tv`. So two windows are two viewers, or two devices of one viewer.
 */
import { render } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { TokenField, useToken } from '../shared/token.ts'
import { html } from '../shared/ui.ts'
import { useAsking } from './asking.ts'
import { forgetAll } from './facts.ts'
import { Feed } from './feed/feed.ts'
import { useConnection } from './live.ts'
import { Videos } from './videos/videos.ts'
import { VIEWERS } from './view.ts'

const parameters = new URLSearchParams(location.search)
const device = parameters.get('device') ?? 'laptop'
const view = parameters.get('view') === 'videos' ? 'videos' : 'feed'

function addressOf(changes: { viewer: string; view?: string; device?: string }): string {
  return `/demo?${new URLSearchParams({ view, device, ...changes }).toString()}`
}

function Demo() {
  const [viewer, setViewer] = useState(parameters.get('viewer') ?? 'ada')
  const [token, setToken] = useToken()
  const identity = useMemo(() => (token === '' ? { viewer } : { token }), [viewer, token])
  const asking = useAsking(identity)
  const live = useConnection(identity, asking.fail)
  useEffect(forgetAll, [identity])
  const { notice } = asking

  function choose(next: string): void {
    history.replaceState(null, '', addressOf({ viewer: next }))
    setViewer(next)
  }

  return html`
    <header class="top">
      <h1>
        <a href="/"><img src="/pages/shared/mark.svg" alt="Tidemark, home" /></a>Demo
      </h1>
      <nav aria-label="Views">
        <${ViewLink} name="feed" text="Home feed" viewer=${viewer} />
        <${ViewLink} name="videos" text="Videos" viewer=${viewer} />
      </nav>
      <span class="right">
        <label
          >Viewer ${' '}
          <select value=${viewer} onChange=${(event: Event) => choose((event.target as HTMLSelectElement).value)}>
            ${[...new Set([...VIEWERS, viewer])].map((each) => html`<option>${each}</option>`)}
          </select>
        </label>
        ${asking.needsToken || token !== '' ? html`<${TokenField} token=${token} setToken=${setToken} />` : null}
        <${SecondWindow} viewer=${viewer} />
        <span class="quiet">${live.isLive ? 'live' : asking.isRefused ? 'refused' : 'connecting…'}</span>
      </span>
    </header>
    <main>
      <div class="notices" role="status" aria-live="polite">
        ${notice === undefined ? null : html`<p class="banner" data-notice=${notice.kind}>${notice.text}</p>`}
      </div>
      <${view === 'videos' ? Videos : Feed} key=${`${viewer} ${token}`} ...${{ identity, viewer, device, asking, live }} />
    </main>
  `
}

function ViewLink({ name, text, viewer }: { name: string; text: string; viewer: string }) {
  return html`<a href=${addressOf({ viewer, view: name })} aria-current=${name === view ? 'page' : undefined}>${text}</a>`
}

/** Videos are about devices of one viewer, and the feed is about several viewers. */
function SecondWindow({ viewer }: { viewer: string }) {
  const otherDevice = device === 'tv' ? 'phone' : 'tv'
  const otherViewer = VIEWERS.find((each) => each !== viewer) as string
  return view === 'videos'
    ? html`<a href=${addressOf({ viewer, device: otherDevice })} target="_blank" rel="opener">Open a second device (${otherDevice})</a>`
    : html`<a href=${addressOf({ viewer: otherViewer })} target="_blank" rel="opener">Open a second window (${otherViewer})</a>`
}

const app = document.getElementById('app') as HTMLElement
app.textContent = ''
render(html`<${Demo} />`, app)
