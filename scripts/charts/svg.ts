/**
 * The frame of a chart as an SVG image: its colours, fonts, title and text for screen readers. A page shows the file with an `img`, so the
 * image brings its own background. It follows the light or dark mode of the reader.
 */
export const WIDTH = 760

export type Chart = {
  /** The SVG file. */
  svg: string
  /** The same figures as a sentence, for readers who do not see the image. */
  words: string
}

export type Alignment = 'start' | 'middle' | 'end'

const STYLE = `
    svg { --paper: #ffffff; --ink: #1f2328; --faint: #59636e; --line: #d1d9e0; --ours: #0a7f78; --other: #8c98a4; --limit: #c9d1d9; --target: #b42318; --second: #b35900; --third: #6b4fbb }
    @media (prefers-color-scheme: dark) {
      svg { --paper: #14181d; --ink: #e6edf3; --faint: #9da7b1; --line: #38414a; --ours: #35b8ae; --other: #74808c; --limit: #46505b; --target: #ff8f80; --second: #e9a23b; --third: #a994f0 }
    }
    text { font: 13px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: var(--ink); stroke: var(--paper); stroke-width: 4px; paint-order: stroke }
    .title { font-size: 16px; font-weight: 600 }
    .heading { font-weight: 600 }
    .faint { fill: var(--faint) }
    .target { fill: var(--target) }
    .strong { font-weight: 600 }
  `

export function svgOf({ title, height, body }: { title: string; height: number; body: readonly string[] }): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title">`,
    `  <title id="title">${escaped(title)}</title>`,
    `  <style>${STYLE}</style>`,
    `  <rect x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="8" fill="var(--paper)" stroke="var(--line)"/>`,
    `  ${textAt(24, 34, title, 'title')}`,
    ...body.map((line) => `  ${line}`),
    '</svg>\n',
  ].join('\n')
}

export function textAt(x: number, y: number, text: string, kind = '', alignment: Alignment = 'start'): string {
  const anchor = alignment === 'start' ? '' : ` text-anchor="${alignment}"`
  return `<text x="${rounded(x)}" y="${rounded(y)}"${kind === '' ? '' : ` class="${kind}"`}${anchor}>${escaped(text)}</text>`
}

export function lineOf(from: readonly [number, number], to: readonly [number, number], colour: string, dashes = ''): string {
  const [[x1, y1], [x2, y2]] = [from.map(rounded), to.map(rounded)] as [[number, number], [number, number]]
  return `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="var(--${colour})"${dashes === '' ? '' : ` stroke-dasharray="${dashes}"`}/>`
}

export function rounded(value: number): number {
  return Math.round(value * 10) / 10
}

const figures = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 })
const wholeFigures = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

/** Three digits, or the whole number if it has more. */
export function figureOf(value: number): string {
  return (Math.abs(value) >= 1_000 ? wholeFigures : figures).format(value)
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
