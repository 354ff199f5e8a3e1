/**
 * The player. A clock runs in place of a video; everything else is real. The player SDK reports the position every few seconds and at each
 * stop. The player continues where any device stopped, and follows the other devices of the viewer while it is paused.
 */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Reporter } from '../../../examples/player-sdk/player.ts'
import { clockText, html } from '../../shared/ui.ts'
import { useFacts } from '../facts.ts'
import { LikeButton } from '../like.ts'
import { Picture, type CardActions } from './card.ts'
import { videoOf } from './catalogue.ts'

const TICK_MS = 250

export type PlayerActions = CardActions & { close(): void }

export function Player({ id, device, reporter, actions }: { id: string; device: string; reporter: Reporter; actions: PlayerActions }) {
  const video = videoOf(id)
  const stored = useFacts().get(id)?.viewerProgress
  const duration = video?.durationMs ?? 0
  const [playing, setPlaying] = useState(false)
  const [position, setPosition] = useState(() => (stored?.finished === true ? 0 : (stored?.position ?? 0)))
  const now = useRef(position)
  now.current = position
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [id])
  const watch = useMemo(() => reporter.watch(id, duration), [reporter, id])

  useEffect(() => {
    if (!playing) return undefined
    const tick = setInterval(() => {
      now.current = Math.min(duration, now.current + TICK_MS)
      setPosition(now.current)
      watch.at(now.current)
      if (now.current >= duration) setPlaying(false)
    }, TICK_MS)
    return () => {
      clearInterval(tick)
      watch.stop(now.current)
    }
  }, [playing, watch])

  // Nothing plays here, and another device reported a position, or the first facts of this video arrived.
  const isElsewhere = stored != null && stored.device !== device
  useEffect(() => {
    if (!playing && stored != null && !stored.finished) setPosition(stored.position)
  }, [stored?.position, stored?.viewedAt])

  if (video === undefined) return null
  const seek = (to: number): void => {
    now.current = to
    setPosition(to)
    watch.stop(to)
  }
  return html`<section class="panel player" aria-label="Player">
    <${Picture} video=${video} position=${position} />
    <div>
      <h2 tabindex="-1" ref=${heading}>${video.title}</h2>
      <p class="quiet">${video.channel} · this device is called <strong>${device}</strong></p>
      <p>
        <button class="primary" onClick=${() => setPlaying(!playing)}>${playing ? 'Pause' : position > 0 ? 'Continue' : 'Play'}</button
        >${' '} <${LikeButton} id=${id} name=${video.title} like=${actions.like} />${' '}
        <button onClick=${actions.close}>Close</button>
      </p>
      <p>
        <input
          type="range"
          aria-label="Position"
          aria-valuetext=${clockText(position)}
          min="0"
          max=${duration}
          step="1000"
          value=${position}
          onChange=${(event: Event) => seek(Number((event.target as HTMLInputElement).value))}
        />
        <span data-position=${id}>${clockText(position)}</span> of ${clockText(duration)}
      </p>
      <p class="quiet" role="status" data-elsewhere>
        ${isElsewhere ? `Last watched on ${stored.device ?? 'another device'}, at ${clockText(stored.position)}.` : ''}
      </p>
    </div>
  </section>`
}
