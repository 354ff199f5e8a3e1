/** `tidemark viewer export ID` and `tidemark viewer erase ID`: an export for the viewer, and the removal of all that is stored of them. */
import { TidemarkError } from '../../core/errors.ts'
import { eraseViewer, type EraseFlags } from './erase.ts'
import { exportViewer } from './export.ts'

export type ViewerFlags = EraseFlags & { out?: string }

export async function viewer(what: string, id: string, flags: ViewerFlags, print: (line: string) => void): Promise<void> {
  if (what === 'erase') {
    if (flags.out !== undefined)
      throw new TidemarkError('CONFIG_INVALID', '--out names the file of an export: for an erasure, use --report')
    return eraseViewer(id, flags, print)
  }
  if (what !== 'export') throw new TidemarkError('CONFIG_INVALID', `"${what}" is not a command of viewer: use export or erase`)
  for (const name of ['verify', 'compact', 'report', 'exports'] as const)
    if (flags[name] !== undefined) throw new TidemarkError('CONFIG_INVALID', `--${name} belongs to viewer erase: leave it out`)
  return exportViewer(id, flags, process.stdout, console.error)
}
