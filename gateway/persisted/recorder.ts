/**
 * Report mode: what clients send that no manifest has, so that it can be added before the mode is set to enforce. Noted in
 * memory, bounded in number and size; written every few seconds to a file that is a manifest itself, with count, first and
 * last time added to each operation.
 *
 * Several processes may write to one file: each adds what it counted since its last write to what stands there, under a
 * lock file, and puts the new file in place of the old in one step. Whoever finds it locked tries again with the next.
 */
import { open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import type { Clock, Timer } from '../../core/clock.ts'
import type { Log } from '../request/error-format.ts'
import type { ClientMemory, Holding } from '../memory/client-memory.ts'
import { textBytes } from '../memory/estimates.ts'
import { APOLLO_FORMAT, keyOf } from './manifest.ts'

export type Unknown = {
  readonly id: string
  readonly name: string | undefined
  readonly type: string
  readonly body: string
  readonly client: string | undefined
}

export type RecorderOptions = {
  /** The file. Undefined: recorded in memory and metrics only. */
  readonly file: string | undefined
  /** Operations recorded at most, in memory and in the file. */
  readonly countMax: number
  readonly writeEveryMs: number
}

export type Recorder = {
  note(unknown: () => Unknown, key: string): void
  /** Writes what was not written yet. */
  close(): Promise<void>
}

type Noted = Unknown & { count: number; firstSeen: number; lastSeen: number }
type Line = {
  id: string
  name: string
  type: string
  body: string
  clientName?: string
  count: number
  firstSeen: string
  lastSeen: string
}

const BODY_LENGTH_MAX = 65_536
const LENGTH_MAX = 16_777_216
/** Operators wait for these texts, so they stay longer than an operation that was sent once. */
const COST_MS = 10
const CLOSING_ROUNDS = 5
const CLOSING_PAUSE_MS = 50
/** A lock older than this belongs to a process that died. */
const LOCK_MAX_MS = 10_000

export function makeRecorder(
  clock: Clock,
  log: Log,
  memory: ClientMemory,
  onChange: (count: number, dropped: number) => void,
  options: RecorderOptions,
): Recorder {
  const { file, countMax, writeEveryMs } = options
  const noted = new Map<string, Noted>()
  const unwritten = new Map<string, Noted>()
  const holdings = new Map<string, Holding>()
  let length = 0
  let dropped = 0
  let timer: Timer | undefined
  let writing: Promise<void> = Promise.resolve()

  function note(makeUnknown: () => Unknown, key: string): void {
    const now = clock.now()
    const known = noted.get(key)
    if (known !== undefined) {
      holdings.get(key)?.touch()
      known.count++
      known.lastSeen = now
      addUnwritten(key, known, 1, now)
      return
    }
    const unknown = noted.size < countMax ? makeUnknown() : undefined
    if (unknown === undefined || unknown.body.length > BODY_LENGTH_MAX || length + unknown.body.length > LENGTH_MAX) {
      dropped++
    } else {
      length += unknown.body.length
      noted.set(key, { ...unknown, count: 1, firstSeen: now, lastSeen: now })
      addUnwritten(key, unknown, 1, now)
      // The key has the text as well, and so has the queue of unwritten texts.
      const holding = memory.hold('recorded', textBytes(unknown.body) * 2, COST_MS, () => forget(key))
      if (noted.has(key)) holdings.set(key, holding)
    }
    onChange(noted.size, dropped)
  }

  /** Texts in the file stay there. Unwritten texts are lost, and the log says so. */
  function forget(key: string): void {
    length -= noted.get(key)?.body.length ?? 0
    noted.delete(key)
    holdings.delete(key)
    if (file === undefined || unwritten.delete(key)) dropped++
    onChange(noted.size, dropped)
  }

  function addUnwritten(key: string, unknown: Unknown, count: number, now: number): void {
    if (file === undefined) return
    const waiting = unwritten.get(key)
    if (waiting === undefined) unwritten.set(key, { ...unknown, count, firstSeen: now, lastSeen: now })
    else {
      waiting.count += count
      waiting.lastSeen = now
    }
    timer ??= clock.after(writeEveryMs, () => {
      timer = undefined
      writing = writing.then(write)
    })
  }

  function stop(): void {
    timer?.cancel()
    timer = undefined
  }

  async function write(): Promise<void> {
    if (file === undefined || unwritten.size === 0) return
    const taken = [...unwritten]
    try {
      if (!(await lock(file, clock))) return
      try {
        unwritten.clear()
        await replace(file, merged(await readLines(file), taken, countMax))
      } finally {
        await rm(lockOf(file), { force: true })
      }
    } catch (error) {
      log.warn({ err: error }, `persisted.report: ${file} cannot be written, and unknown operations are kept in memory meanwhile`)
      for (const [key, { count, lastSeen, ...unknown }] of taken) if (!unwritten.has(key)) addUnwritten(key, unknown, count, lastSeen)
    }
    const [first] = unwritten
    // Somebody else had the lock: once more later.
    if (first !== undefined) addUnwritten(first[0], first[1], 0, first[1].lastSeen)
  }

  return {
    note,
    async close() {
      stop()
      await writing
      // Another process that ends may hold the lock just now.
      for (let round = 0; round < CLOSING_ROUNDS && unwritten.size > 0; round++) {
        if (round > 0) await setTimeout(CLOSING_PAUSE_MS)
        await write()
        stop()
      }
    },
  }
}

function merged(lines: readonly Line[], taken: readonly (readonly [string, Noted])[], countMax: number): Line[] {
  const all = new Map(lines.map((line) => [keyOf(line.id, line.clientName), line]))
  for (const [, { id, name, type, body, client, count, firstSeen, lastSeen }] of taken) {
    const key = keyOf(id, client)
    const before = all.get(key)
    if (before === undefined && all.size >= countMax) continue
    all.set(key, {
      ...{ id, name: name ?? '', type, body },
      ...(client === undefined ? {} : { clientName: client }),
      count: (before?.count ?? 0) + count,
      firstSeen: before?.firstSeen ?? new Date(firstSeen).toISOString(),
      lastSeen: new Date(lastSeen).toISOString(),
    })
  }
  return [...all.values()]
}

/** Throws if the file is there and is not ours: it is not overwritten. */
async function readLines(file: string): Promise<Line[]> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
  const data = JSON.parse(text) as { format?: unknown; operations?: unknown }
  if (data.format !== APOLLO_FORMAT || !Array.isArray(data.operations)) throw new Error('it is there, and is no manifest')
  return data.operations as Line[]
}

async function replace(file: string, operations: readonly Line[]): Promise<void> {
  const draft = `${file}.${process.pid}.new`
  await writeFile(draft, `${JSON.stringify({ format: APOLLO_FORMAT, version: 1, operations }, undefined, 2)}\n`)
  await rename(draft, file)
}

function lockOf(file: string): string {
  return `${file}.lock`
}

async function lock(file: string, clock: Clock): Promise<boolean> {
  try {
    await (await open(lockOf(file), 'wx')).close()
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const { mtimeMs } = await stat(lockOf(file)).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }))
    if (clock.now() - mtimeMs > LOCK_MAX_MS) await rm(lockOf(file), { force: true })
    return false
  }
}
