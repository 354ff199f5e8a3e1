import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeWholeFile } from '../../../cli/migrate/whole-file.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-whole-file-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function text(out: Writable): Promise<number> {
  await new Promise<void>((resolve, reject) => out.write('new\n', (error) => (error == null ? resolve() : reject(error))))
  return 1
}

async function half(out: Writable): Promise<never> {
  await text(out)
  throw new Error('the store went')
}

test('a failed write leaves the old file unchanged, and no other file', async () => {
  const path = join(folder, 'out')
  await expect(writeWholeFile(path, half)).rejects.toThrow('the store went')
  expect(readdirSync(folder)).toEqual([])
  writeFileSync(path, 'old')
  await expect(writeWholeFile(path, half)).rejects.toThrow('the store went')
  expect(readFileSync(path, 'utf8')).toBe('old')
  expect(readdirSync(folder)).toEqual(['out'])
})

test('the old file is there until the new one is complete', async () => {
  const path = join(folder, 'out')
  writeFileSync(path, 'old')
  const seen = await writeWholeFile(path, async (out) => {
    await text(out)
    return readFileSync(path, 'utf8')
  })
  expect(seen).toBe('old')
  expect(readFileSync(path, 'utf8')).toBe('new\n')
  expect(readdirSync(folder)).toEqual(['out'])
})

test('a file keeps its permissions, and a link its target', async () => {
  const [path, link] = [join(folder, 'out'), join(folder, 'link')]
  writeFileSync(path, 'old')
  chmodSync(path, 0o600)
  symlinkSync(path, link)
  await writeWholeFile(link, text)
  expect(readFileSync(path, 'utf8')).toBe('new\n')
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(readdirSync(folder).toSorted()).toEqual(['link', 'out'])
})

test('only the owner can read a new file', async () => {
  const path = join(folder, 'out')
  await writeWholeFile(path, text)
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('a pipe is written to, and stays a pipe', async () => {
  const path = join(folder, 'pipe')
  execFileSync('mkfifo', [path])
  const [read] = await Promise.all([readFile(path, 'utf8'), writeWholeFile(path, text)])
  expect(read).toBe('new\n')
  expect(statSync(path).isFIFO()).toBe(true)
})

test('a missing folder, and a folder in place of the file, are refused with a sentence', async () => {
  for (const path of [join(folder, 'nowhere', 'out'), folder])
    await expect(writeWholeFile(path, text)).rejects.toThrow(/ cannot be written: .*; name another file with --out$/)
})
