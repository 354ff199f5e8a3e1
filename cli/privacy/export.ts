/**
 * `tidemark viewer export ID` prints the data of a viewer as JSONL (`viewer-lines.ts`), or writes it to a file as a whole. The last line
 * has the number of lines before it: a redirected output that a full disk or a kill ended lacks it. If a store does not answer, the command
 * fails, because an incomplete export would look like a complete one.
 */
import type { Writable } from 'node:stream'
import { systemClock } from '../../core/clock.ts'
import type { ViewerId } from '../../core/domain.ts'
import { checkId } from '../../core/keys.ts'
import { writeWholeFile } from '../migrate/whole-file.ts'
import { requireDataFolder } from '../process/data-folder.ts'
import { readSettingsInEffect } from '../process/live-config.ts'
import { makeLog } from '../process/log.ts'
import type { Flags } from '../process/settings.ts'
import { openStores } from '../stores/history.ts'
import { viewerLines, type ViewerLine } from './viewer-lines.ts'

export async function exportViewer(
  viewer: ViewerId,
  flags: Flags & { out?: string },
  out: Writable,
  say: (line: string) => void,
): Promise<void> {
  const config = await readSettingsInEffect(flags)
  checkId(viewer, 'the id of the viewer')
  requireDataFolder(config)
  const stores = await openStores(config, systemClock, makeLog())
  const counts = new Map<string, number>()
  const writeAll = async (to: Writable): Promise<void> => {
    let lines = 0
    for await (const line of viewerLines(stores, viewer, config)) {
      counts.set(line.kind, (counts.get(line.kind) ?? 0) + 1)
      lines += 1
      await writeLine(to, line)
    }
    await writeLine(to, { kind: 'end', lines })
  }
  try {
    if (flags.out === undefined) await writeAll(out)
    else await writeWholeFile(flags.out, writeAll)
  } finally {
    await stores.close()
  }
  counts.delete('viewer')
  const found = Array.from(counts, ([kind, count]) => `${count} ${kind}`).join(', ')
  say(`viewer ${viewer}: ${found === '' ? 'nothing is stored' : found}`)
}

function writeLine(to: Writable, line: ViewerLine): Promise<void> {
  return new Promise((resolve, reject) => {
    to.write(`${JSON.stringify(line)}\n`, (error) => (error == null ? resolve() : reject(error)))
  })
}
