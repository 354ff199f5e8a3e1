/**
 * `tidemark config` works with the live configuration (`config/live/live.ts`): it shows, checks, compares and sets its versions. It also prints the
 * configuration in effect, and the JSON Schema of both files.
 */
import { TidemarkError } from '../../core/errors.ts'
import { readSources, type Flags } from '../process/settings.ts'
import { printEffective } from './effective.ts'
import { jsonSchema } from './json-schema.ts'
import { checkFile, getVersion, printDifferences, printHistory, rollBack, setVersion } from './versions.ts'

export type ConfigFlags = Flags & { expect?: string; note?: string; live?: boolean }

const USE = 'use get, check FILE, set FILE, diff FILE, diff VERSION [VERSION], history, rollback VERSION, print or schema'

export async function config(what: string, args: readonly string[], flags: ConfigFlags, print: (line: string) => void): Promise<void> {
  if (what === 'schema') return print(JSON.stringify(jsonSchema(flags.live === true), undefined, 2))
  const settings = readSources(flags)
  switch (what) {
    case 'get':
      return getVersion(settings, args[0], print)
    case 'check':
      return checkFile(settings, needed(what, 'a file', args[0]), print)
    case 'set':
      return setVersion(settings, needed(what, 'a file', args[0]), flags, print)
    case 'diff':
      return printDifferences(settings, needed(what, 'a file or a version', args[0]), args[1], print)
    case 'history':
      return printHistory(settings, print)
    case 'rollback':
      return rollBack(settings, needed(what, 'a version of `tidemark config history`', args[0]), flags, print)
    case 'print':
      return printEffective(settings, print)
    default:
      throw new TidemarkError('CONFIG_INVALID', `"${what}" is not a command of config: ${USE}`)
  }
}

function needed(what: string, noun: string, value: string | undefined): string {
  if (value !== undefined) return value
  throw new TidemarkError('CONFIG_INVALID', `config ${what} needs ${noun}: ${USE}`)
}
