/** The stored data of one viewer, read on request. */
import { useState } from 'preact/hooks'
import { CallFailed, read, sentenceOf, type Identity } from '../shared/api.ts'
import { html } from '../shared/ui.ts'
import type { ViewerData } from './answer.ts'

export function Viewer({ identity }: { identity: Identity }) {
  const [id, setId] = useState('')
  const [data, setData] = useState<ViewerData>()
  const [trouble, setTrouble] = useState<string>()

  async function show(event: Event): Promise<void> {
    event.preventDefault()
    try {
      setData(await read<ViewerData>(identity, `/console/viewer?${new URLSearchParams({ id }).toString()}`))
      setTrouble(undefined)
    } catch (error) {
      setData(undefined)
      setTrouble(error instanceof CallFailed ? sentenceOf(error) : String(error))
    }
  }

  return html`<section class="panel wide" aria-labelledby="viewer">
    <h2 id="viewer">One viewer</h2>
    <form onSubmit=${(event: Event) => void show(event)}>
      <label>Viewer id <input type="text" value=${id} onInput=${(event: Event) => setId((event.target as HTMLInputElement).value)} /></label
      >${' '}
      <button class="primary">Show</button>
    </form>
    <div role="status" aria-live="polite">${trouble === undefined ? null : html`<p class="banner">${trouble}</p>`}</div>
    ${data === undefined ? null : html`<${Found} data=${data} />`}
  </section>`
}

function Found({ data }: { data: ViewerData }) {
  const { viewer, region, regions, paused, cleared, entries, hasMoreEntries, likes, dislikes, seen, feed } = data
  return html`<div data-viewer=${viewer}>
    <p>
      Viewer <strong>${viewer}</strong>, region ${region} of ${regions}, history ${paused ? 'paused' : 'on'}.
      ${cleared.map(({ business, upTo }) => html` The history of ${business} is cleared up to ${momentText(upTo)}.`)}
    </p>
    ${
      entries.length === 0
        ? html`<p class="quiet">No entries of the history.</p>`
        : html`<table>
            <caption>
              ${hasMoreEntries ? `The newest ${entries.length} entries of the history` : `History, ${entries.length} entries`}
            </caption>
            <thead>
              <tr>
                <th>Subject</th>
                <th>Viewed at</th>
                <th class="number">Position</th>
                <th class="number">Duration</th>
                <th>Device</th>
                <th>Record store</th>
              </tr>
            </thead>
            <tbody>
              ${entries.map(
                (entry) =>
                  html`<tr key=${`${entry.business}/${entry.id}`}>
                    <td>${entry.business}/${entry.id}</td>
                    <td>${momentText(entry.viewedAt)}</td>
                    <td class="number">${entry.finished ? 'finished' : entry.position}</td>
                    <td class="number">${entry.duration}</td>
                    <td>${entry.device}</td>
                    <td>${entry.persisted ? 'persisted' : 'not yet'}</td>
                  </tr>`,
              )}
            </tbody>
          </table>`
    }
    <${Marks} title="Likes" marks=${likes} />
    <${Marks} title="Dislikes" marks=${dislikes} />
    <h3>Feeds</h3>
    <ul>
      ${(seen.length === 0 ? ['Nothing was served or played.'] : seen).map((line) => html`<li>${line}</li>`)}
    </ul>
    <h3>Posts and follows</h3>
    <ul>
      ${(feed.length === 0 ? ['No posts and no follows.'] : feed).map((line) => html`<li>${line}</li>`)}
    </ul>
  </div>`
}

function Marks({ title, marks }: { title: string; marks: ViewerData['likes'] }) {
  if (marks.length === 0) return null
  return html`<h3>${title}</h3>
    <ul>
      ${marks.map(({ business, id, markedAt }) => html`<li key=${`${business}/${id}`}>${business}/${id}, ${momentText(markedAt)}</li>`)}
    </ul>`
}

function momentText(time: number): string {
  return new Date(time).toLocaleString('en-GB')
}
