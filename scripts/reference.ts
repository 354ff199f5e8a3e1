/**
 * `npm run reference`: writes the generated pages of docs/reference. With --check it fails if a page is stale.
 *
 * The facts are those of the program: the configuration schema, the commands, the registered metrics, the topics, the migrations and the
 * error codes. A fact without its words, such as a setting without a description, is an error.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { referencePages } from './reference/pages.ts'
import { report } from './repository.ts'

const pages = await referencePages()

if (process.argv.includes('--check')) {
  const stale = pages.filter(({ path, text }) => !existsSync(path) || readFileSync(path, 'utf8') !== text)
  report(stale.map(({ path }) => `${path} no longer fits the code: run "npm run reference" and commit the result`))
} else {
  for (const { path, text } of pages) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
}
