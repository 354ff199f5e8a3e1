/**
 * `npm run check:links`: fails on a relative link that leads nowhere, in a document of the repository or of the npm package.
 * A link may be right in the repository and dead in the package, which holds the files that package.json names.
 */
import { deadLinks } from './document-links.ts'
import { openRepository, output, report } from './repository.ts'

type Packed = { files: { path: string }[] }

const { files, read } = openRepository()

report(
  new Set([
    ...deadLinks({ files, read }),
    ...deadLinks({ files: packedFiles(), read }).map((sentence) => `${sentence} in the npm package`),
  ]),
)

/** Without a build, because no document links into dist. */
function packedFiles(): Set<string> {
  const [packed] = JSON.parse(output('npm', ['pack', '--dry-run', '--json', '--ignore-scripts', '--offline'])) as Packed[]
  return new Set(packed?.files.map(({ path }) => path))
}
