/**
 * Draws a dashboard on an empty page of a browser, with uPlot, the library of Grafana's charts. It is a script of the page: it uses the
 * globals `drawing` and `uPlot`, and no module.
 */
import type uPlot from 'uplot'
import type { Drawing, Series } from './drawing.ts'

const { uPlot: Chart, drawing } = globalThis as unknown as { uPlot: typeof uPlot; drawing: Drawing }
const colours = ['#5a9e4b', '#c9a400', '#3f83b8', '#d9622b', '#b23a48', '#7a5ba6', '#2f8f8b', '#8a6d3b']
const number = new Intl.NumberFormat('en', { maximumSignificantDigits: 3, notation: 'compact' })
const units: Record<string, (value: number) => string> = {
  s: (value) => (value !== 0 && Math.abs(value) < 1 ? `${number.format(value * 1_000)} ms` : `${number.format(value)} s`),
  ms: (value) => `${number.format(value)} ms`,
  bytes: (value) => (value >= 2 ** 20 ? `${number.format(value / 2 ** 20)} MiB` : `${number.format(value / 2 ** 10)} KiB`),
  percentunit: (value) => `${number.format(value * 100)}%`,
  reqps: (value) => `${number.format(value)} req/s`,
  wps: (value) => `${number.format(value)} wr/s`,
  Bps: (value) => `${number.format(value)} B/s`,
}

function add<Name extends keyof HTMLElementTagNameMap>(parent: Element, name: Name, text = ''): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name)
  element.textContent = text
  parent.append(element)
  return element
}

function addChart(section: HTMLElement, unit: string, series: readonly Series[]): void {
  const format = units[unit] ?? ((value: number) => number.format(value))
  const axis = { grid: { stroke: '#e8e8e8', width: 1 }, ticks: { show: false }, font: '10px system-ui' }
  const clock = (at: number) => new Date(at * 1_000).toISOString().slice(11, 16)
  void new Chart(
    {
      width: section.clientWidth - 12,
      height: 130,
      legend: { show: false },
      cursor: { show: false },
      scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] } },
      axes: [
        { ...axis, size: 24, space: 60, incrs: [60, 120, 300], values: (_, ticks) => ticks.map(clock) },
        { ...axis, size: 62, space: 28, values: (_, ticks) => ticks.map(format) },
      ],
      series: [{}, ...series.map((__, at) => ({ stroke: colours[at % colours.length], width: 1.5, points: { show: false } }))],
    },
    [[...times], ...series.map(({ values }) => [...values])],
    section,
  )
}

const { title, note, times, panels } = drawing
const header = add(document.body, 'header')
add(header, 'h1', title)
add(header, 'span', note)
const main = add(document.body, 'main')
for (const panel of panels) {
  const element = add(main, panel.isTitle ? 'h2' : 'section', panel.isTitle ? panel.title : '')
  element.style.gridColumn = `${panel.place.x + 1} / span ${panel.place.w}`
  if (panel.isTitle) continue
  add(element, 'h3', panel.title)
  if (panel.series.length === 0) add(element, 'p', 'No data')
  else addChart(element, panel.unit, panel.series)
  const list = add(element, 'ul')
  panel.series.forEach(({ legend }, at) => {
    const item = add(list, 'li', legend)
    const line = document.createElement('i')
    line.style.background = colours[at % colours.length]
    item.prepend(line)
  })
}
main.dataset['done'] = ''
