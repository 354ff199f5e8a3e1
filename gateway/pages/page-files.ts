/**
 * The files of the web pages in `pages/`: as they are, and TypeScript as JavaScript. In the npm package `tsc` has compiled them. In a clone
 * their types are removed when a file is first asked for, so an edit shows at the next reload and nothing is built.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { extname, join } from 'node:path'

export type PageFile = { readonly type: string; readonly body: Buffer; readonly etag: string }

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.ts': 'text/javascript; charset=utf-8',
}

/** The folder that contains `pages/`: the clone, or `dist` of the package. */
const ROOT = join(import.meta.dirname, '..', '..')
/** The folders that a browser may read. */
const SERVED = /^(pages|examples\/player-sdk)\/([a-z0-9-]+\/)*[a-z0-9-]+\.(html|css|svg|js|ts)$/

/** Files of the libraries that pages import, as `package/file`. */
const LIBRARIES = /^(preact|htm|uplot|graphql-ws)\/((hooks\/)?dist\/[\w.-]+\.(js|mjs|css))$/

/** `path`: without the leading slash, such as `pages/demo/main.js` or `pages/library/htm/dist/htm.mjs`. Undefined if no page has such a file. */
export async function readPageFile(path: string): Promise<PageFile | undefined> {
  const file = path.startsWith('pages/library/') ? libraryFile(path.slice('pages/library/'.length)) : ownFile(path)
  if (file === undefined) return undefined
  const text = readFileSync(file)
  const body = extname(file) === '.ts' ? Buffer.from(await withoutTypes(text.toString('utf8'))) : text
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
  return { type: TYPES[extname(file)] ?? 'application/octet-stream', body, etag }
}

function libraryFile(name: string): string | undefined {
  const [, library, file] = LIBRARIES.exec(name) ?? []
  const folder = library === undefined ? undefined : packageFolder(library)
  if (folder === undefined || file === undefined) return undefined
  return existsSync(join(folder, file)) ? join(folder, file) : undefined
}

/** Searches the module folders, because a package need not export the files that a browser needs. */
function packageFolder(name: string): string | undefined {
  const places = createRequire(import.meta.url).resolve.paths(name) ?? []
  return places.map((modules) => join(modules, name)).find((folder) => existsSync(folder))
}

function ownFile(path: string): string | undefined {
  if (!SERVED.test(path)) return undefined
  const file = join(ROOT, path)
  if (existsSync(file)) return file
  const source = file.replace(/\.js$/, '.ts')
  return existsSync(source) ? source : undefined
}

async function withoutTypes(source: string): Promise<string> {
  const { transformSync } = await import('amaro')
  return transformSync(source, { mode: 'strip-only' }).code
}
