/**
 * Reads viewers from a file: one id per line, plain or gzipped. The file is a stream and may be larger than memory. A line that is not an
 * id is reported, and reading goes on.
 */
import { createReadStream, existsSync, statSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { createGunzip } from 'node:zlib'
import { TidemarkError, isTidemarkError } from '../../core/errors.ts'
import { checkId } from '../../core/keys.ts'

/** `line` starts at 1. */
export type ViewerLine = { viewer: string; line: number; mistake: undefined } | { viewer: undefined; line: number; mistake: string }

/** Throws CONFIG_INVALID if the path is not a file, or ends in `.gz` and is not gzipped. */
export async function* readViewers(path: string, afterLine = 0): AsyncGenerator<ViewerLine> {
  let line = 0
  try {
    for await (const text of createInterface({ input: open(path), crlfDelay: Number.POSITIVE_INFINITY })) {
      line++
      const viewer = text.trim()
      if (line > afterLine && viewer !== '') yield lineOf(viewer, line, path)
    }
  } catch (error) {
    if (isTidemarkError(error) || !(error instanceof Error)) throw error
    throw new TidemarkError(
      'CONFIG_INVALID',
      `${path} cannot be read after line ${line} (${error.message}): check that the file is complete`,
      {
        cause: error,
      },
    )
  }
}

function open(path: string): NodeJS.ReadableStream {
  if (!existsSync(path) || !statSync(path).isFile())
    throw new TidemarkError('CONFIG_INVALID', `--users ${path} is not a file: name a file with one viewer id per line`)
  const source = createReadStream(path)
  if (!path.endsWith('.gz')) return source
  const input = source.pipe(createGunzip())
  // A failed source does not end the stream it is piped into: hand the failure on.
  source.on('error', (error) => input.destroy(error))
  return input
}

function lineOf(viewer: string, line: number, path: string): ViewerLine {
  try {
    checkId(viewer, 'the viewer')
    if (viewer.includes('\uFFFD')) throw new TidemarkError('ID_INVALID', 'the viewer is not UTF-8: send well-formed text')
    return { viewer, line, mistake: undefined }
  } catch (error) {
    return { viewer: undefined, line, mistake: `${path}:${line}: ${error instanceof Error ? error.message : String(error)}` }
  }
}

export async function* inBatches<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let batch: T[] = []
  for await (const item of items) {
    batch.push(item)
    if (batch.length < size) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
