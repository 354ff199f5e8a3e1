/**
 * Reads interactions from a file: TSV with a header or JSONL, plain or gzipped, with a viewer, a subject and a time per row. The file is a
 * stream and may be larger than memory.
 */
import { createReadStream, existsSync, statSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { createGunzip } from 'node:zlib'
import { TidemarkError } from '../../core/errors.ts'
import { SECONDS_BELOW } from '../../core/input-limits.ts'
import { inexactIdMistake } from '../../core/keys.ts'

/** The content of a row. Only JSONL rows may have more than the first three fields. */
export type Interaction = {
  viewer: string
  oid: string
  /** Milliseconds since the epoch. */
  viewedAt: number
  business?: string
  position?: number
  duration?: number
  device?: string
}

const COLUMNS = {
  viewer: ['viewer', 'viewer_id', 'user_id', 'user'],
  oid: ['id', 'subject', 'subject_id', 'item_id', 'item'],
  time: ['viewedAt', 'viewed_at', 'time', 'timestamp'],
} as const

const TELL_EVERY = 1_000

/** Throws CONFIG_INVALID with the line. `onRead` gets the fraction of the file that was read, by bytes. */
export async function* readInteractions(path: string, onRead: (fraction: number) => void = () => {}): AsyncGenerator<Interaction> {
  if (!existsSync(path))
    throw new TidemarkError('CONFIG_INVALID', `${path} does not exist: name a TSV or JSONL file of viewer, subject and time`)
  const source = createReadStream(path)
  const { size } = statSync(path)
  const input = path.endsWith('.gz') ? source.pipe(createGunzip()) : source
  // A failed source does not end the stream it is piped into; hand the failure on, or the reader would wait forever.
  source.on('error', (error) => input.destroy(error))
  let parseLine: ((line: string, place: string) => Interaction) | undefined
  let number = 0
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    number++
    if (line === '') continue
    const place = `${path}:${number}`
    if (parseLine === undefined) {
      parseLine = line.startsWith('{') ? parseJsonLine : makeTsvParser(line.split('\t'), place)
      if (!line.startsWith('{')) continue
    }
    if (number % TELL_EVERY === 0) onRead(source.bytesRead / size)
    yield parseLine(line, place)
  }
}

function makeTsvParser(header: readonly string[], place: string): (line: string, place: string) => Interaction {
  const [viewer, oid, time] = Object.values(COLUMNS).map((names) => header.findIndex((column) => names.some((name) => name === column)))
  if (viewer === undefined || oid === undefined || time === undefined || viewer < 0 || oid < 0 || time < 0) {
    throw new TidemarkError('CONFIG_INVALID', `${place} is not a header: name three tab-separated columns, such as viewer, subject, time`)
  }
  return (line, linePlace) => {
    const cells = line.split('\t')
    return checked({ viewer: cells[viewer], oid: cells[oid], viewedAt: Number(cells[time]) }, linePlace)
  }
}

function parseJsonLine(line: string, place: string): Interaction {
  let row: Record<string, unknown>
  try {
    row = JSON.parse(line) as Record<string, unknown>
  } catch (error) {
    throw new TidemarkError('CONFIG_INVALID', `${place} is not JSON: write one object per line`, { cause: error })
  }
  const pick = (names: readonly string[]) => names.map((name) => row[name]).find((value) => value !== undefined)
  const extra = Object.fromEntries(
    ['business', 'position', 'duration', 'device'].flatMap((name) => (row[name] === undefined ? [] : [[name, row[name]]])),
  )
  return checked(
    {
      ...extra,
      viewer: asText(pick(COLUMNS.viewer), `${place}: the viewer`),
      oid: asText(pick(COLUMNS.oid), `${place}: the subject`),
      viewedAt: Number(pick(COLUMNS.time)),
    },
    place,
  )
}

function asText(value: unknown, what: string): string | undefined {
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new TidemarkError('CONFIG_INVALID', inexactIdMistake(value as number, what))
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}

function checked(row: { viewer: string | undefined; oid: string | undefined; viewedAt: number }, place: string): Interaction {
  const { viewer, oid, viewedAt } = row
  if (viewer === undefined || viewer === '' || oid === undefined || oid === '' || !Number.isFinite(viewedAt)) {
    throw new TidemarkError('CONFIG_INVALID', `${place} lacks a viewer, a subject or a time: give all three`)
  }
  return { ...row, viewer, oid, viewedAt: Math.round(viewedAt < SECONDS_BELOW ? viewedAt * 1_000 : viewedAt) }
}
