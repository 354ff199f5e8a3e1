/** Operations by their cost, hot subjects, and the subgraphs. */
import { useRef } from 'preact/hooks'
import { html } from '../shared/ui.ts'
import type { HotSubject, Operation, State } from './answer.ts'
import { numberText } from './chart.ts'

const SHOWN = 12

/** Ordered by the cost of all calls, which is the cost of one call times their number. */
export function Operations({ operations }: { operations: readonly Operation[] }) {
  const all = operations.reduce((sum, { cost }) => sum + cost, 0)
  const before = useRef(new Map<string, number>())
  const rows = operations.slice(0, SHOWN).map((operation) => {
    const key = `${operation.kind} ${operation.name}`
    const isNew = operation.count > (before.current.get(key) ?? operation.count)
    return { ...operation, key, isNew }
  })
  before.current = new Map(operations.map(({ kind, name, count }) => [`${kind} ${name}`, count]))
  return html`<section class="panel wide" aria-labelledby="operations">
    <h2 id="operations">Operations by cost <span class="quiet">points since the start</span></h2>
    ${rows.length === 0 ? html`<p class="quiet">No operation was called yet.</p>` : null}
    ${
      rows.length === 0
        ? null
        : html`<table>
            <thead>
              <tr>
                <th>Operation</th>
                <th>Kind</th>
                <th class="number">Calls</th>
                <th class="number">With errors</th>
                <th class="number">Cost per call</th>
                <th class="number">Cost of all</th>
                <th class="number">Share</th>
              </tr>
            </thead>
            <tbody>
              ${rows.map(
                ({ key, isNew, kind, name, count, failed, cost }) =>
                  html`<tr key=${key} class=${isNew ? 'moving' : ''} data-operation=${name}>
                    <td>${name}</td>
                    <td>${kind}</td>
                    <td class="number">${numberText(count)}</td>
                    <td class="number">${numberText(failed)}</td>
                    <td class="number">${numberText(count === 0 ? null : cost / count)}</td>
                    <td class="number">${numberText(cost)}</td>
                    <td class="number">${all === 0 ? '–' : `${Math.round((100 * cost) / all)}%`}</td>
                  </tr>`,
              )}
            </tbody>
          </table>`
    }
  </section>`
}

export function HotSubjects({ hot }: { hot: readonly HotSubject[] }) {
  return html`<section class="panel" aria-labelledby="hot">
    <h2 id="hot">Hot subjects <span class="quiet">reads of counts in this process</span></h2>
    ${hot.length === 0 ? html`<p class="quiet">No subject has a large share of the reads now.</p>` : null}
    ${
      hot.length === 0
        ? null
        : html`<table>
            <thead>
              <tr>
                <th>Subject</th>
                <th class="number">Reads per second</th>
                <th class="number">Share</th>
              </tr>
            </thead>
            <tbody>
              ${hot.map(
                ({ business, id, perSecond, share }) =>
                  html`<tr key=${`${business}/${id}`} data-hot=${id}>
                    <td>${business}/${id}</td>
                    <td class="number">${numberText(perSecond)}</td>
                    <td class="number">${Math.round(100 * share)}%</td>
                  </tr>`,
              )}
            </tbody>
          </table>`
    }
  </section>`
}

export function Subgraphs({ supergraph: { hash, subgraphs } }: Pick<State, 'supergraph'>) {
  return html`<section class="panel" aria-labelledby="subgraphs">
    <h2 id="subgraphs">Supergraph <code>${hash}</code></h2>
    <table>
      <thead>
        <tr>
          <th>Subgraph</th>
          <th>Place</th>
          <th>State</th>
          <th class="number">Fetches</th>
          <th class="number">Failed</th>
        </tr>
      </thead>
      <tbody>
        ${subgraphs.map(
          ({ name, url, isDown, fetches, failed }) =>
            html`<tr key=${name} data-subgraph=${name}>
              <td>${name}</td>
              <td class="address">${url ?? 'this process'}</td>
              <td class=${isDown ? 'bad' : 'good'}>${isDown ? 'down: calls are refused until it answers' : 'serves'}</td>
              <td class="number">${numberText(fetches)}</td>
              <td class="number">${numberText(failed)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </section>`
}
