/** A folder for manifests, and their forms. */
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export function sha(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

export type Line = { id?: string; name?: string; type?: string; body: string; clientName?: string }

/** Missing ids are generated. */
export function apollo(...operations: Line[]): string {
  const lines = operations.map((operation) => ({ id: sha(operation.body), ...operation }))
  return JSON.stringify({ format: 'apollo-persisted-query-manifest', version: 1, operations: lines })
}

export function makeManifestFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-manifests-'))
  return {
    folder,
    path: (name: string) => join(folder, name),
    write(name: string, text: string): string {
      writeFileSync(join(folder, name), text)
      return join(folder, name)
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
