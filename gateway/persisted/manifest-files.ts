/**
 * Reads manifests from files, and from all `*.json` files of folders. Changes are found by comparing the size, the times and the inode
 * of each file every few seconds. Kernel notifications do not work on network file systems, and they get lost when a folder is replaced
 * as a whole, as Kubernetes does for a ConfigMap.
 *
 * A named file must exist. Files in a folder may come and go.
 */
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readManifest, type Manifest } from './manifest.ts'

const FILE_BYTES_MAX = 67_108_864

/** The manifests by file, and the missing paths. */
export type ManifestFiles = { readonly manifests: ReadonlyMap<string, Manifest>; readonly missing: readonly string[] }

export function readManifestFiles(paths: readonly string[], tokensMax: number): ManifestFiles {
  const manifests = new Map<string, Manifest>()
  const missing: string[] = []
  for (const path of paths) {
    const files = listFiles(path)
    if (files === undefined) missing.push(path)
    for (const file of files ?? []) manifests.set(file, readFile(file, tokensMax))
  }
  return { manifests, missing }
}

export function manifestMistakes({ manifests, missing }: ManifestFiles): string[] {
  return [...missing.map(manifestMissing), ...[...manifests.values()].flatMap(({ mistakes }) => mistakes)]
}

export function manifestMissing(path: string): string {
  return `persisted.manifests: ${path} cannot be read: name an existing file or folder`
}

/** Changes when any manifest changes. */
export function signatureOf(paths: readonly string[]): string {
  return paths.map((path) => (listFiles(path) ?? []).map(stampOf).join('\n')).join('\n\n')
}

function listFiles(path: string): string[] | undefined {
  try {
    if (!statSync(path).isDirectory()) return [path]
    const names = readdirSync(path).filter((name) => name.endsWith('.json') && !name.startsWith('.'))
    return names.toSorted().map((name) => join(path, name))
  } catch {
    return undefined
  }
}

function stampOf(file: string): string {
  try {
    const { size, mtimeMs, ctimeMs, ino } = statSync(file)
    return `${file} ${size} ${mtimeMs} ${ctimeMs} ${ino}`
  } catch {
    return `${file} is gone`
  }
}

function readFile(file: string, tokensMax: number): Manifest {
  try {
    const { size } = statSync(file)
    if (size > FILE_BYTES_MAX) return { operations: [], mistakes: [`${file} has ${size} bytes, more than ${FILE_BYTES_MAX}: split it`] }
    return readManifest(readFileSync(file, 'utf8'), file, tokensMax)
  } catch (error) {
    return { operations: [], mistakes: [`${file} cannot be read: ${(error as Error).message}`] }
  }
}
