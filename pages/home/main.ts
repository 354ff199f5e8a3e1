/** The home page: the state of the process, and first calls that run here or in a terminal. */
import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { html } from '../shared/ui.ts'

const CALLS = [
  {
    title: 'Report that viewer 7 reached minute 10 of a video of 30 minutes',
    query: `mutation {
  reportProgress(input: {business: "video", id: "42", position: 600000, duration: 1800000, device: "tv"}) {
    outcome
    subject { id viewerProgress { position finished } }
  }
}`,
  },
  {
    title: 'Like it',
    query: `mutation {
  setMark(input: {business: "video", id: "42", mark: LIKE}) {
    outcome
    subject { id viewerMark likeCount }
  }
}`,
  },
  {
    title: 'Everything about two videos in one call',
    query: `{
  subjects(business: "video", ids: ["42", "43"]) {
    id likeCount viewerMark viewerSeen
    viewerProgress { position duration }
  }
}`,
  },
  {
    title: 'What to show next: the candidates that viewer 7 has not seen',
    query: `{
  unseen(business: "video", candidates: ["41", "42", "43"]) { ids }
}`,
  },
  {
    title: 'The history, newest first',
    query: `{
  viewerHistory(first: 10) {
    edges { viewedAt node { id business viewerProgress { position } } }
  }
}`,
  },
  {
    title: 'Publish a post',
    query: `mutation {
  publishPost(input: {clientKey: "first", text: "Hello from the coast"}) {
    post { id text author { id postCount } likeCount }
  }
}`,
  },
  {
    title: 'Follow Harbour TV, which publishes at the first visit of the demo',
    query: `mutation {
  follow(input: {ids: ["demo-harbour-tv"]}) {
    results { outcome user { id followerCount viewerFollows } }
  }
}`,
  },
  {
    title: 'The home feed: the newest posts of the users that viewer 7 follows',
    query: `{
  homeFeed(first: 10) {
    edges { node { text author { id } likeCount viewerMark viewerSeen } }
  }
}`,
  },
]

function Call({ title, query }: (typeof CALLS)[number]) {
  const [answer, setAnswer] = useState<string>()
  const body = JSON.stringify({ query: query.replace(/\s+/g, ' ') })
  const command = `curl ${location.origin}/graphql -H 'content-type: application/json' -H 'x-viewer-id: 7' -d '${body}'`
  async function run(): Promise<void> {
    try {
      const headers = { 'content-type': 'application/json', 'x-viewer-id': '7' }
      const response = await fetch('/graphql', { method: 'POST', headers, body: JSON.stringify({ query }) })
      setAnswer(JSON.stringify(await response.json(), null, 1))
    } catch {
      setAnswer('The server cannot be reached. Start it again with npm start, then run this call again.')
    }
  }
  return html`<article>
    <h3>${title}</h3>
    <pre tabindex="0">${query}</pre>
    <button onClick=${() => void run()}>Run<span class="unseen">: ${title}</span></button>${' '}
    <button onClick=${() => void navigator.clipboard.writeText(command)}>Copy as curl<span class="unseen">: ${title}</span></button>
    ${answer === undefined ? null : html`<pre tabindex="0" role="status">${answer}</pre>`}
  </article>`
}

function Status() {
  const [text, setText] = useState('checking…')
  useEffect(() => {
    const check = async (): Promise<void> => {
      try {
        const { ok, stores } = (await (await fetch('/health/ready')).json()) as { ok: boolean; stores: Record<string, string> }
        const down = Object.entries(stores).filter(([, state]) => state !== 'ok')
        setText(ok && down.length === 0 ? 'ready' : `not ready: ${down.map(([store, state]) => `${store}: ${state}`).join('; ')}`)
      } catch {
        setText('the server cannot be reached')
      }
    }
    void check()
    const timer = setInterval(() => void check(), 2_000)
    return () => clearInterval(timer)
  }, [])
  return html`<span class=${text === 'ready' ? 'good' : 'bad'}>${text}</span>`
}

const calls = document.getElementById('calls') as HTMLElement
render(html`${CALLS.map((each) => html`<${Call} ...${each} />`)}`, calls)
const status = document.getElementById('status') as HTMLElement
status.textContent = ''
render(html`<${Status} />`, status)
