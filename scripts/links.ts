/**
 * `npm run check:links`: fails on a relative link that leads nowhere, in a document of the repository or of the npm package.
 * A link may be right in the repository and dead in the package, which holds the files that package.json names.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { deadLinks } from './document-links.ts'

type Packed = { files: { path: string }[] }

const read = (path: string): string => readFileSync(path, 'utf8')

const found = new Set([
  ...deadLinks({ files: repositoryFiles(), read }),
  ...deadLinks({ files: packedFiles(), read }).map((sentence) => `${sentence} in the npm package`),
])
for (const sentence of found) console.error(sentence)
if (found.size > 0) process.exitCode = 1

function repositoryFiles(): Set<string> {
  const listed = output('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard']).split('\0')
  return new Set(listed.filter((path) => path !== '' && existsSync(path)))
}

/** Without a build, since no document links into dist. */
function packedFiles(): Set<string> {
  const [packed] = JSON.parse(output('npm', ['pack', '--dry-run', '--json', '--ignore-scripts', '--offline'])) as Packed[]
  return new Set(packed?.files.map(({ path }) => path))
}

function output(command: string, args: readonly string[]): string {
  return execFileSync(command, args, { encoding: 'utf8', maxBuffer: 2 ** 26, stdio: ['ignore', 'pipe', 'ignore'] })
}
