/** Rows as the bytes of a file, and back: JSON lines, or Parquet. */
import { parquetReadObjects } from 'hyparquet'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { TidemarkError } from '../../core/errors.ts'
import type { Form } from './forms.ts'
import { columnsOf, type Column, type Kind, type Row } from './rows.ts'

const NEWLINE = 0x0a

export function encodeRows(form: Form, kind: Kind, rows: readonly Row[]): Buffer {
  if (form === 'jsonl') return Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  const columnData = columnsOf(kind).map(({ name, type, isOptional }) => ({
    name,
    type,
    nullable: isOptional,
    data: rows.map((row) => cellOf((row as Record<string, unknown>)[name], type)),
  }))
  return Buffer.from(parquetWriteBuffer({ columnData, rowGroupSize: Math.max(1, rows.length), createdBy: 'tidemark' }))
}

function cellOf(value: unknown, type: Column['type']): unknown {
  if (value === undefined) return null
  return type === 'INT64' ? BigInt(value as number) : value
}

/** `line`: from 1, the line of the file or the row of the Parquet table. `value`: not checked yet; undefined if the line is not JSON. */
export type ReadRow = { line: number; value: unknown }

/** Throws DATA_DAMAGED for bytes that are no Parquet file. `file`: for messages. */
export async function decodeRows(form: Form, kind: Kind, bytes: Buffer, file: string): Promise<ReadRow[]> {
  return form === 'jsonl' ? linesOf(bytes) : parquetRows(kind, bytes, file)
}

function linesOf(bytes: Buffer): ReadRow[] {
  const rows: ReadRow[] = []
  for (let start = 0, line = 1; start < bytes.length; line += 1) {
    const found = bytes.indexOf(NEWLINE, start)
    const end = found === -1 ? bytes.length : found
    rows.push({ line, value: parsed(bytes.toString('utf8', start, end)) })
    start = end + 1
  }
  return rows
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function parquetRows(kind: Kind, bytes: Buffer, file: string): Promise<ReadRow[]> {
  const integers = new Set(columnsOf(kind).flatMap(({ name, type }) => (type === 'INT64' ? [name] : [])))
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer
  try {
    const rows = await parquetReadObjects({ file: buffer })
    return rows.map((row, at) => ({ line: at + 1, value: plainRow(row, integers) }))
  } catch (cause) {
    throw new TidemarkError('DATA_DAMAGED', `${file} is not a Parquet file that can be read (${(cause as Error).message}): export again`, {
      cause,
    })
  }
}

function plainRow(row: Record<string, unknown>, integers: ReadonlySet<string>): Record<string, unknown> {
  const plain: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(row)) {
    if (value === null || value === undefined) continue
    plain[name] = integers.has(name) && typeof value === 'bigint' ? Number(value) : value
  }
  return plain
}
