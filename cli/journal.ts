/**
 * `tidemark journal` lists the waiting and parked entries in the journals of the data folder. `put-back` makes parked entries wait again,
 * once their reason is gone. Both may run beside other processes: the process that holds the journal applies the entries seconds later.
 */
import { TidemarkError } from '../core/errors.ts'
import type { JournalView, Parked } from '../writeback/journal.ts'
import { viewJournals } from './stores/history.ts'
import { requireFolder } from './process/data-folder.ts'
import { readSettings, type Flags } from './process/settings.ts'

/** `names`: entries as the list shows them, such as journal-0/17; or all. */
export async function journal(what: string, names: readonly string[], flags: Flags, print: (line: string) => void): Promise<void> {
  const config = readSettings(flags)
  if (what !== 'list' && what !== 'put-back')
    throw new TidemarkError('CONFIG_INVALID', `"${what}" is not a command of journal: use list or put-back`)
  // For a mistyped name, "no journal" would be wrong: an operator may then remove a disk whose journals have entries.
  requireFolder(config.stores.data)
  const views = viewJournals(config)
  try {
    if (views.length === 0) print(`no process has kept a journal in ${config.stores.data}`)
    else if (what === 'list') for (const view of views) await list(view, print)
    else await putBack(views, names, print)
  } finally {
    for (const view of views) await view.close()
  }
}

async function list(view: JournalView, print: (line: string) => void): Promise<void> {
  const { waiting, parked } = await view.count()
  print(`${view.name}  ${waiting} waiting, ${parked} parked`)
  for (const each of await view.listParked()) print(`  ${view.name}/${each.number}  ${describe(each)}`)
}

function describe(each: Parked): string {
  if ('unreadable' in each) return `cannot be read: ${each.unreadable}`
  const { entry, reason } = each
  return `${new Date(entry.now).toISOString()}  ${entry.change.kind} of viewer ${entry.viewer}: ${reason}`
}

async function putBack(views: readonly JournalView[], names: readonly string[], print: (line: string) => void): Promise<void> {
  if (names.length === 0) throw new TidemarkError('CONFIG_INVALID', 'put-back needs entries as `tidemark journal` shows them, or all')
  const unknown = new Set(names)
  for (const view of views) {
    const numbers = (await view.listParked()).map(({ number }) => number)
    const wanted = names.includes('all') ? numbers : numbers.filter((number) => unknown.has(`${view.name}/${number}`))
    for (const number of await view.putBack(wanted)) {
      unknown.delete(`${view.name}/${number}`)
      print(`${view.name}/${number} waits again`)
    }
  }
  unknown.delete('all')
  if (unknown.size > 0) {
    throw new TidemarkError('CONFIG_INVALID', `not parked in any journal: ${[...unknown].join(', ')}; see \`tidemark journal\``)
  }
}
