/**
 * The console: the pipeline of this process, live. It reads `/console/state` and computes rates from the counters. In development it sends
 * the scope `operator`. In production it asks for a token that has it.
 */
import { render } from 'preact'
import { useMemo } from 'preact/hooks'
import { TokenField, useToken } from '../shared/token.ts'
import { html, timeText } from '../shared/ui.ts'
import { Chart, type Line } from './chart.ts'
import { usePoll } from './poll.ts'
import { Stores, useOutages } from './stores.ts'
import { HotSubjects, Operations, Subgraphs } from './tables.ts'
import { Viewer } from './viewer.ts'

const DEVELOPMENT = { viewer: 'console', scopes: 'operator' }

const CHARTS: readonly { title: string; unit: string; lines: readonly Line[] }[] = [
  {
    title: 'Writes',
    unit: 'per second',
    lines: [
      { name: 'reports', label: 'Reports' },
      { name: 'marks', label: 'Marks' },
      { name: 'plays', label: 'Plays' },
      { name: 'posts', label: 'Posts' },
    ],
  },
  {
    title: 'Persisting',
    unit: 'per second',
    lines: [
      { name: 'rows', label: 'Rows' },
      { name: 'flushes', label: 'Flushes' },
    ],
  },
  {
    title: 'Lag',
    unit: 'waiting now',
    lines: [
      { name: 'dirty', label: 'Dirty keys' },
      { name: 'lag', label: 'Log' },
      { name: 'journal', label: 'Journal' },
    ],
  },
  { title: 'Feeds', unit: 'per second', lines: [{ name: 'candidates', label: 'Candidates of unseen' }] },
  { title: 'Requests', unit: 'per second', lines: [{ name: 'requests', label: 'Operations' }] },
  {
    title: 'Time of requests',
    unit: 'milliseconds',
    lines: [
      { name: 'p50', label: 'Median' },
      { name: 'p99', label: '99th percentile' },
    ],
  },
]

function Console() {
  const [token, setToken] = useToken()
  const identity = useMemo(() => (token === '' ? DEVELOPMENT : { token }), [token])
  const { state, points, trouble, needsToken } = usePoll(identity)
  const outages = useOutages(state)

  return html`
    <header class="top">
      <h1>
        <a href="/"><img src="/pages/shared/mark.svg" alt="Tidemark, home" /></a>Console
      </h1>
      <span class="right">
        ${needsToken || token !== '' ? html`<${TokenField} token=${token} setToken=${setToken} />` : null}
        <span class="quiet">${state === undefined ? 'no figures yet' : `as of ${timeText(state.at)}`}</span>
      </span>
    </header>
    <main>
      <div role="status" aria-live="polite">${trouble === undefined ? null : html`<p class="banner" data-trouble>${trouble}</p>`}</div>
      ${
        state === undefined
          ? null
          : html`<${Stores} state=${state} ...${outages} />
              <div class="grid">
                ${CHARTS.map((each) => html`<${Chart} key=${each.title} ...${each} points=${points} />`)}
                <${Operations} operations=${state.operations} />
                <${HotSubjects} hot=${state.hot} />
                <${Subgraphs} supergraph=${state.supergraph} />
                <${Viewer} identity=${identity} />
              </div>`
      }
    </main>
  `
}

const app = document.getElementById('app') as HTMLElement
app.textContent = ''
render(html`<${Console} />`, app)
