/** Lines over an axis whose steps are factors of ten. The other axis begins at 0. */
import { figureOf, lineOf, rounded, svgOf, textAt, WIDTH, type Chart } from './svg.ts'

export type Line = { label: string; points: readonly (readonly [number, number])[] }

export type LineChart = {
  title: string
  heading: string
  /** The unit of the horizontal axis. */
  axis: string
  lines: readonly Line[]
  target?: { value: number; label: string }
}

const COLOURS = ['ours', 'second', 'third', 'other']
const [LEFT, RIGHT, TOP, HEIGHT] = [64, 176, 92, 240]

export function linesOf({ title, heading, axis, lines, target }: LineChart): Chart {
  const points = lines.flatMap((line) => line.points)
  const [first, last] = [Math.min(...points.map(([x]) => x)), Math.max(...points.map(([x]) => x))]
  const step = stepFor(Math.max(...points.map(([, y]) => y)))
  const most = Math.ceil(Math.max(...points.map(([, y]) => y)) / step) * step
  const xOf = (x: number): number => LEFT + ((WIDTH - LEFT - RIGHT) * Math.log(x / first)) / Math.log(last / first)
  const yOf = (y: number): number => TOP + HEIGHT * (1 - y / most)
  const end = WIDTH - RIGHT
  const body = [textAt(24, 66, heading, 'heading')]
  for (let y = 0; y <= most + step / 2; y += step)
    body.push(lineOf([LEFT, yOf(y)], [end, yOf(y)], 'line'), textAt(LEFT - 10, yOf(y) + 4.5, figureOf(y), 'faint', 'end'))
  for (let x = first; x <= last * 1.01; x *= 10) body.push(textAt(xOf(x), TOP + HEIGHT + 22, figureOf(x), 'faint', 'middle'))
  body.push(textAt((LEFT + end) / 2, TOP + HEIGHT + 44, axis, 'faint', 'middle'))
  if (target !== undefined)
    body.push(
      lineOf([LEFT, yOf(target.value)], [end, yOf(target.value)], 'target', '4 3'),
      textAt(LEFT + 6, yOf(target.value) - 6, target.label, 'target'),
    )
  lines.forEach(({ label, points: own }, at) => {
    const colour = COLOURS[at % COLOURS.length] as string
    const places = own.map(([x, y]) => `${rounded(xOf(x))},${rounded(yOf(y))}`)
    const [lastX, lastY] = own.at(-1) as readonly [number, number]
    body.push(
      `<polyline points="${places.join(' ')}" fill="none" stroke="var(--${colour})" stroke-width="2.5"/>`,
      ...own.map(([x, y]) => `<circle cx="${rounded(xOf(x))}" cy="${rounded(yOf(y))}" r="3.5" fill="var(--${colour})"/>`),
      textAt(xOf(lastX) + 10, yOf(lastY) + 4.5, `${label}, ${figureOf(lastY)}`),
    )
  })
  const words = lines.map((line) => `${line.label} ${line.points.map(([, y]) => figureOf(y)).join(', ')}`)
  return {
    svg: svgOf({ title, height: TOP + HEIGHT + 64, body }),
    words: `${title}. ${heading}, from ${figureOf(first)} to ${figureOf(last)} ${axis}: ${words.join('; ')}.`,
  }
}

/** 1, 2 or 5 times a power of ten, for at most five steps. */
function stepFor(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most))
  return [power / 5, power / 2, power, 2 * power].find((step) => most / step <= 5) as number
}
