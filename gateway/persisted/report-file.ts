/**
 * The file of report mode: a manifest whose operations also have a count, a first time and a last time. Several processes may write to
 * one file. Each adds its counts to those in the file, under a lock file, and replaces the file in one step.
 */
import { open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import type { Clock } from '../../core/clock.ts'
import { APOLLO_FORMAT, scopedKey } from './manifest.ts'

/** An operation that no manifest has. */
export type UnknownOperation = {
  readonly id: string
  readonly name: string | undefined
  readonly type: string
  readonly body: string
  readonly client: string | undefined
}

/** An unknown operation with its count. Times are milliseconds since the epoch. */
export type NotedOperation = UnknownOperation & { count: number; firstSeen: number; lastSeen: number }

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

/** A lock older than this belongs to a process that died. */
const LOCK_MAX_MS = 10_000

/** Runs `write` under the lock of the file. False if another process has the lock. */
export async function whileLocked(file: string, clock: Clock, write: () => Promise<void>): Promise<boolean> {
  if (!(await lock(file, clock))) return false
  try {
    await write()
  } finally {
    await rm(lockOf(file), { force: true })
  }
  return true
}

/** The caller has the lock. Throws if the file is there and is not a report. */
export async function addToReport(file: string, noted: readonly NotedOperation[], countMax: number): Promise<void> {
  await replace(file, merged(await readLines(file), noted, countMax))
}

function merged(lines: readonly Line[], noted: readonly NotedOperation[], countMax: number): Line[] {
  const all = new Map(lines.map((line) => [scopedKey(line.id, line.clientName), line]))
  for (const { id, name, type, body, client, count, firstSeen, lastSeen } of noted) {
    const key = scopedKey(id, client)
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

async function readLines(file: string): Promise<Line[]> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
  const data = JSON.parse(text) as { format?: unknown; operations?: unknown }
  if (data.format !== APOLLO_FORMAT || !Array.isArray(data.operations)) throw new Error('the file exists and is not a report')
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
