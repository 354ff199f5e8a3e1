/**
 * The files of the web pages in `pages/`: as they are, and TypeScript as JavaScript. In the npm package `tsc` has compiled them. In a clone
 * their types are removed when a file is first asked for, so nothing is built. A file is read and compressed again when it has changed, so
 * an edit shows at the next reload.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { extname, join } from 'node:path'
import { makeStaticFile, type StaticFile } from '../doors/static-file.ts'

/** `etag`: weak, because the file as it is and in gzip have the same tag. */
export type PageFile = StaticFile & { readonly etag: string }

/** Undefined if no page has such a file. `path`: without the leading slash, such as `pages/demo/main.js` or `pages/library/htm/dist/htm.mjs`. */
export type ReadPageFile = (path: string) => Promise<PageFile | undefined>

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

/** `completed`: the text of an HTML file as browsers get it. */
export function makePageFiles(completed: (html: string) => string): ReadPageFile {
  /** By path. Only files that exist are kept. */
  const kept = new Map<string, { readonly changedAt: number; readonly made: Promise<PageFile> }>()

  return async function readPageFile(path) {
    const file = path.startsWith(LIBRARY) ? libraryFile(path.slice(LIBRARY.length)) : ownFile(path)
    if (file === undefined) return undefined
    const { mtimeMs: changedAt } = await stat(file)
    const known = kept.get(path)
    if (known?.changedAt === changedAt) return known.made
    const made = makePageFile(file, completed)
    kept.set(path, { changedAt, made })
    made.catch(() => kept.delete(path))
    return made
  }
}

const LIBRARY = 'pages/library/'

async function makePageFile(file: string, completed: (html: string) => string): Promise<PageFile> {
  const source = await readFile(file)
  const extension = extname(file)
  const body = extension === '.html' ? completed(source.toString()) : extension === '.ts' ? await withoutTypes(source.toString()) : source
  const bytes = Buffer.from(body)
  const etag = `W/"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
  return { ...(await makeStaticFile(TYPES[extension] ?? 'application/octet-stream', bytes)), etag }
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
