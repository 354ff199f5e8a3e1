/** Reads the Dockerfile, and builds its folder without Docker: the copied files, with the installed packages of this checkout. */
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'

export const CHECKOUT = join(import.meta.dirname, '..', '..')

export type Image = {
  base: string
  labels: Record<string, string>
  environment: Record<string, string>
  /** The folder of the code. */
  folder: string
  user: string
  entrypoint: string[]
  command: string[]
  health: string[]
  /** Files and folders, and where they go. */
  copies: { from: string[]; to: string }[]
  /** Shell commands of the build. */
  runs: string[]
}

export function readImage(path = join(CHECKOUT, 'Dockerfile')): Image {
  const instructions = instructionsOf(readFileSync(path, 'utf8'))
  const last = (name: string): string => instructions.findLast((each) => each.name === name)?.text ?? ''
  const all = (name: string): string[] => instructions.filter((each) => each.name === name).map(({ text }) => text)
  return {
    base: last('FROM'),
    labels: pairsOf(all('LABEL')),
    environment: pairsOf(all('ENV')),
    folder: last('WORKDIR'),
    user: last('USER'),
    entrypoint: JSON.parse(last('ENTRYPOINT')) as string[],
    command: JSON.parse(last('CMD')) as string[],
    health: JSON.parse(last('HEALTHCHECK').replace(/^.*?CMD /, '')) as string[],
    copies: all('COPY').map((text) => {
      const words = text.split(' ')
      return { from: words.slice(0, -1), to: words.at(-1) ?? '' }
    }),
    runs: all('RUN'),
  }
}

function instructionsOf(text: string): { name: string; text: string }[] {
  const lines = text.replaceAll(/^\s*#.*\n/gm, '').replaceAll(/\\\n\s*/g, '')
  return [...lines.matchAll(/^([A-Z]+) +(.*)$/gm)].map(([, name = '', rest = '']) => ({ name, text: rest.trim() }))
}

function pairsOf(texts: readonly string[]): Record<string, string> {
  const pairs = texts.flatMap((text) => [...text.matchAll(/([\w.]+)=(?:"([^"]*)"|(\S+))/g)])
  return Object.fromEntries(pairs.map(([, name = '', quoted, bare]) => [name, quoted ?? bare ?? '']))
}

/** Copies what the image copies, and nothing else. Packages are those of this checkout. */
export function buildImage(image: Image, folder: string): void {
  mkdirSync(folder, { recursive: true })
  for (const { from, to } of image.copies) {
    for (const path of from) {
      const target = join(folder, to.endsWith('/') ? join(to, path) : to)
      mkdirSync(dirname(target), { recursive: true })
      cpSync(join(CHECKOUT, path), target, { recursive: true })
    }
  }
  symlinkSync(join(CHECKOUT, 'node_modules'), join(folder, 'node_modules'))
}
