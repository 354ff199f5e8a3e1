/**
 * `npm run check:architecture`: fails if the tree breaks a rule of the house. With names of rules it checks only those:
 * `node scripts/architecture.ts arrows map`.
 */
import { forbiddenImports } from './architecture/arrows.ts'
import { sizeExceptions } from './architecture/exceptions.ts'
import { largeFolders, repeatedExports } from './architecture/folders.ts'
import { mapMistakes } from './architecture/map.ts'
import { readmeMistakes } from './architecture/readme.ts'
import { makeComplain } from './arguments.ts'
import { openRepository, report, type Repository } from './repository.ts'

const RULES: Record<string, (repository: Repository) => string[]> = {
  arrows: forbiddenImports,
  folders: largeFolders,
  exports: repeatedExports,
  exceptions: sizeExceptions,
  map: mapMistakes,
  readme: readmeMistakes,
}

const complain = makeComplain(`usage: node scripts/architecture.ts [${Object.keys(RULES).join('] [')}]`)
const asked = process.argv.slice(2)
const repository = openRepository()

for (const rule of asked.length === 0 ? Object.keys(RULES) : asked) {
  report(RULES[rule]?.(repository) ?? complain(`there is no rule "${rule}"`))
}
