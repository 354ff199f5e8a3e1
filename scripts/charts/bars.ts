/** Horizontal bars in one or more panels. Each panel has a scale of its own, which begins at 0. */
import { figureOf, lineOf, rounded, svgOf, textAt, WIDTH, type Chart } from './svg.ts'

export type Bar = {
  label: string
  value: number
  /** `ours` is Tidemark, `limit` a raw store or a bare server, `other` another product. */
  kind: 'ours' | 'other' | 'limit'
}

export type Panel = {
  /** The measured figure, with its unit. */
  heading: string
  bars: readonly Bar[]
  /** A dashed line, with its label. */
  target?: { value: number; label: string }
}

const [ROW, BAR, LEFT, RIGHT] = [28, 18, 296, 96]

export function barsOf(title: string, panels: readonly Panel[]): Chart {
  const body: string[] = []
  let top = 58
  for (const { heading, bars, target } of panels) {
    body.push(textAt(24, top + 8, heading, 'heading'))
    top += 22
    const most = Math.max(...bars.map(({ value }) => value), target?.value ?? 0)
    const lengthOf = (value: number): number => (value / most) * (WIDTH - LEFT - RIGHT)
    const bottom = top + bars.length * ROW
    if (target !== undefined) {
      const x = LEFT + lengthOf(target.value)
      body.push(lineOf([x, top - 2], [x, bottom], 'target', '4 3'), textAt(x, top - 7, target.label, 'target', 'middle'))
    }
    bars.forEach(({ label, value, kind }, at) => {
      const y = top + at * ROW + (ROW - BAR) / 2
      const length = Math.max(lengthOf(value), 1.5)
      body.push(
        textAt(LEFT - 10, y + 13.5, label, kind === 'ours' ? 'strong' : '', 'end'),
        `<rect x="${LEFT}" y="${rounded(y)}" width="${rounded(length)}" height="${BAR}" rx="2" fill="var(--${kind})"/>`,
        textAt(LEFT + length + 8, y + 13.5, figureOf(value), kind === 'ours' ? 'strong' : ''),
      )
    })
    top = bottom + 24
  }
  return { svg: svgOf({ title, height: top - 4, body }), words: `${[title, ...panels.map(wordsOf)].join('. ')}.` }
}

function wordsOf({ heading, bars, target }: Panel): string {
  const figures = bars.map(({ label, value }) => `${label} ${figureOf(value)}`)
  return `${heading}: ${[...figures, ...(target === undefined ? [] : [`target ${target.label}`])].join('; ')}`
}
