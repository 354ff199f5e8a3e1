/** The form of a new post: for everybody or for chosen viewers, and perhaps sharing another post. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { html } from '../../shared/ui.ts'
import { nameOf } from './community.ts'
import type { Post } from './operations.ts'
import type { Draft } from './state.ts'

const TEXT_MAX = 2_000

export type ComposerProps = { source: Post | undefined; endShare(): void; publish(draft: Draft): Promise<boolean> }

export function Composer({ source, endShare, publish }: ComposerProps) {
  const [text, setText] = useState('')
  const [isRestricted, setRestricted] = useState(false)
  const [viewers, setViewers] = useState('')
  const [isBusy, setBusy] = useState(false)
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => {
    if (source !== undefined) field.current?.focus()
  }, [source])

  async function submit(event: Event): Promise<void> {
    event.preventDefault()
    setBusy(true)
    const isPublished = await publish({ text, audience: isRestricted ? listOf(viewers) : undefined, source })
    setBusy(false)
    if (!isPublished) return
    setText('')
    endShare()
  }

  return html`<form class="panel" aria-label="New post" onSubmit=${(event: Event) => void submit(event)}>
    <label
      >${source === undefined ? 'What is new?' : `Your words about the post of ${nameOf(source.author?.id ?? '')}, or none`}
      <textarea rows="2" ref=${field} value=${text} onInput=${(event: Event) => setText(valueOf(event))}></textarea>
    </label>
    ${source === undefined ? null : html`<blockquote class="text">${source.text}</blockquote>`}
    <p class="actions">
      <label
        ><input
          type="checkbox"
          checked=${isRestricted}
          onChange=${(event: Event) => setRestricted((event.target as HTMLInputElement).checked)}
        />
        For chosen viewers only</label
      >
      ${isRestricted ? html`<label>Viewers <input type="text" placeholder="ben, cleo" value=${viewers} onInput=${(event: Event) => setViewers(valueOf(event))} /></label>` : null}
    </p>
    <p class="actions">
      <button class="primary" disabled=${isBusy}>${source === undefined ? 'Publish' : 'Repost'}</button>
      ${source === undefined ? null : html`<button type="button" onClick=${endShare}>Do not repost</button>`}
      <span class=${text.length > TEXT_MAX ? 'bad' : 'quiet'}>${text.length} of ${TEXT_MAX.toLocaleString('en')}</span>
    </p>
  </form>`
}

export function valueOf(event: Event): string {
  return (event.target as HTMLInputElement | HTMLTextAreaElement).value
}

/** The parts between commas. */
export function listOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}
