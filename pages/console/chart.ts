/** A chart of the last minutes, with its current figures as text beside it: the figures are the alternative for readers without the picture. */
import uPlot from 'uplot'
import { useEffect, useRef, useState } from 'preact/hooks'
import { html, timeText } from '../shared/ui.ts'
import type { Point } from './rates.ts'

export type Line = { name: string; label: string }

const HEIGHT = 130
const FORMAT = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })

export function numberText(value: number | null | undefined): string {
  return value == null ? '–' : FORMAT.format(value)
}

export function Chart({ title, unit, lines, points }: { title: string; unit: string; lines: readonly Line[]; points: readonly Point[] }) {
  const place = useRef<HTMLDivElement>(null)
  const legend = useRef<HTMLElement>(null)
  const chart = useRef<uPlot | undefined>(undefined)
  const scheme = useScheme()
  const current = points.at(-1)?.values ?? {}

  useEffect(() => {
    const [at, swatches] = [place.current as HTMLDivElement, (legend.current as HTMLElement).querySelectorAll('i')]
    const colours = Array.from(swatches, (swatch) => getComputedStyle(swatch).color)
    const made = new uPlot(optionsOf(at, lines, colours), dataOf(lines, points), at)
    chart.current = made
    const resized = new ResizeObserver(() => made.setSize({ width: at.clientWidth, height: HEIGHT }))
    resized.observe(at)
    return () => {
      resized.disconnect()
      made.destroy()
    }
  }, [scheme])
  useEffect(() => chart.current?.setData(dataOf(lines, points)), [points])

  return html`<figure class="panel">
    <figcaption ref=${legend}>
      <h2>${title} <span class="quiet">${unit}</span></h2>
      <dl>
        ${lines.map(
          ({ name, label }, index) =>
            html`<div>
              <dt><i class=${`line-${index + 1}`} aria-hidden="true"></i>${label}</dt>
              <dd data-figure=${name}>${numberText(current[name])}</dd>
            </div>`,
        )}
      </dl>
    </figcaption>
    <div ref=${place} role="img" aria-label=${`${title} of the last minutes. The current figures are above.`}></div>
  </figure>`
}

function dataOf(lines: readonly Line[], points: readonly Point[]): uPlot.AlignedData {
  return [points.map(({ at }) => at / 1_000), ...lines.map(({ name }) => points.map(({ values }) => values[name] ?? null))]
}

function optionsOf(place: HTMLElement, lines: readonly Line[], colours: readonly string[]): uPlot.Options {
  const { color } = getComputedStyle(place)
  const axis = { stroke: color, grid: { stroke: '#8884', width: 1 }, ticks: { show: false }, font: '12px system-ui' }
  return {
    width: place.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: { y: { range: (_, __, most) => [0, Math.max(1, most * 1.1)] } },
    axes: [
      { ...axis, space: 90, values: (_, times) => times.map((time) => timeText(time * 1_000)) },
      { ...axis, size: 48, values: (_, ticks) => ticks.map((tick) => FORMAT.format(tick)) },
    ],
    series: [{}, ...lines.map((_, index) => ({ stroke: colours[index] as string, width: 2, points: { show: false } }))],
  }
}

/** A canvas does not follow the colour scheme by itself. */
function useScheme(): boolean {
  const query = matchMedia('(prefers-color-scheme: dark)')
  const [isDark, setDark] = useState(query.matches)
  useEffect(() => {
    const changed = (): void => setDark(query.matches)
    query.addEventListener('change', changed)
    return () => query.removeEventListener('change', changed)
  }, [])
  return isDark
}
