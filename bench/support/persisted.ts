/** Persisted operations of a benchmark: their request bodies, and the manifest for `persisted.manifests`. */
import { apollo, makeManifestFolder, sha } from '../../harness/samples/manifests.ts'

/** Makes the bodies of requests for one operation. */
export function persisted(text: string): (variables?: object) => Buffer {
  const head = `{"documentId":"sha256:${sha(text)}","variables":`
  return (variables = {}) => Buffer.from(`${head}${JSON.stringify(variables)}}`)
}

/** `path`: of the manifest. Each operation begins with its type and its name. */
export function writeManifest(texts: readonly string[]): { path: string; remove(): void } {
  const folder = makeManifestFolder()
  const lines = texts.map((body) => {
    const [type = '', name = ''] = body.split(/[ ({]/)
    return { name, type, body }
  })
  return { path: folder.write('operations.json', apollo(...lines)), remove: folder.remove }
}

/** Throws if the answer is not complete. */
export function checkWhole(answer: string): void {
  if (answer.includes('"errors"') || answer.includes('"degraded"'))
    throw new Error(`an answer is not complete: ${answer.slice(0, 300)} … ${answer.slice(-300)}`)
}
