/** The commands about stored data, and their options. */
import { Option, type Command } from 'commander'
import { LEGACY_SCORES } from '../../config/legacy.ts'
import { FORMS } from '../move/forms.ts'
import { CONFIG, DATA, wholeFrom } from './options.ts'
import { FAILED, exitStatus } from './reconcile-status.ts'

export function addData(program: Command): void {
  program
    .command('inspect')
    .description("Show the contents of the stores: 'inspect viewer ID' or 'inspect stores'")
    .argument('<what>', 'viewer or stores')
    .argument('[id]', "the viewer's id")
    .option('--filters <folder>', "write the viewer's filters to this folder, such as 2026-11.filter; examples/read-filter reads them")
    .option(...DATA)
    .option(...CONFIG)
    .action(async (what: string, id: string | undefined, flags) => (await import('../inspect.ts')).inspect(what, id, flags, console.log))

  program
    .command('events')
    .description('Print reward events as JSONL, oldest first, from the embedded stores. May run beside the service')
    .option(
      '--after <cursor>',
      'continue after the event with this cursor (default: from the oldest event that is kept). Ends with CURSOR_EXPIRED if events after it are no longer kept',
    )
    .option('--follow', 'wait for more events until the command is stopped')
    .option(...DATA)
    .option(...CONFIG)
    .action(async (flags) => {
      const { endOfProcess, events } = await import('../events.ts')
      await events(flags, console.log, endOfProcess())
    })

  program
    .command('journal')
    .description(
      "List the waiting and parked entries in the journals of this machine, or put parked ones back: 'journal', 'journal put-back all'",
    )
    .argument('[what]', 'list or put-back', 'list')
    .argument('[entries...]', 'parked entries as the list shows them, such as journal-0/17, or all')
    .option('--data <folder>', 'folder of the journals (TIDEMARK_DATA, default ./data)')
    .option(...CONFIG)
    .action(async (what: string, entries: string[], flags) => (await import('../journal.ts')).journal(what, entries, flags, console.log))

  program
    .command('reconcile')
    .description(
      'Recount all stored marks, follows, posts and reposts, and compare them with the counts. Ends with status 1 if a count differs, else with 3 if something is damaged or the command fails, else with 2 if a record store does not answer',
    )
    .option('--business <name>', 'only this business (default: all with likes, follows, and posts)')
    .option('--repair', 'correct the counts of posts and reposts that differ')
    .option(...DATA)
    .option(...CONFIG)
    // Status 1 would mean that a count differs.
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : FAILED))
    .action(async (flags) => {
      process.exitCode = FAILED
      const { reconcile } = await import('../reconcile.ts')
      process.exitCode = exitStatus(await reconcile(flags, console.log))
    })

  addBackups(program)
  addMoves(program)
  addMigratePlayed(program)
}

function addBackups(program: Command): void {
  program
    .command('backup')
    .description('Copy the embedded stores into a folder, or the data that only Redis has, with checksums. May run beside the service')
    .requiredOption('--out <folder>', 'the folder: new or empty')
    .option(...DATA)
    .option(...CONFIG)
    .action(async (flags) => (await import('../backup/backup.ts')).backup(flags, console.log))

  program
    .command('restore')
    .description('Put a backup into empty stores: a data folder, or Redis, which is also filled from MySQL. No process may run on them')
    .argument('<folder>', 'folder of `backup`')
    .option(...DATA)
    .option(...CONFIG)
    .action(async (folder: string, flags) => (await import('../backup/restore.ts')).restore(folder, flags, console.log))
}

function addMoves(program: Command): void {
  program
    .command('export')
    .description(
      'Write the stored data into a folder, as JSON lines or Parquet with checksums. May run beside the service. An interrupted export continues if it is run again',
    )
    .requiredOption('--out <folder>', 'the folder: new, empty, or with an interrupted export of the same options')
    .addOption(new Option('--form <form>', 'the form of the files').choices(FORMS).default('jsonl'))
    .option('--business <names>', 'only these businesses, separated by commas. Filters of plays are left out', (text) => text.split(','))
    .option('--viewer <id>', 'only the data of this viewer')
    .option(
      '--since <version>',
      'only rows that changed since this version, which an earlier export prints',
      wholeFrom(0, Number.MAX_SAFE_INTEGER),
    )
    .option('--rate <number>', 'rows per second', wholeFrom(1, 1_000_000_000))
    .option(...DATA)
    .option(...CONFIG)
    .action(async (flags) => (await import('../move/export.ts')).exportData(flags, console.log))

  program
    .command('import')
    .description(
      'Read an export into the stores of this configuration, of either shape. No process may run on them. May be repeated: the newer state of a record stays. Ends with status 1 if rows are wrong or a verification finds a difference',
    )
    .argument('<folder>', 'folder of `export`')
    .option('--check', 'check the files and their rows, and import nothing')
    .option('--skip-wrong', 'import the good rows although others are wrong')
    .option('--verify', 'then read each row again and compare it')
    .option('--rate <number>', 'rows per second', wholeFrom(1, 1_000_000_000))
    .option('--resume <file>', 'keep the names of imported files in this file, and leave them out when the import is run again')
    .option(...DATA)
    .option(...CONFIG)
    .action(async (folder: string, flags) => {
      if (!(await (await import('../move/import.ts')).importData(folder, flags, console.log))) process.exitCode = 1
    })

  program
    .command('business-left')
    .description('Print how many marks of a business the stores hold. Ends with status 1 if the business is deleted and something is left')
    .argument('<name>', 'name of the business')
    .option(...DATA)
    .option(...CONFIG)
    .action(async (name: string, flags) => {
      if (!(await (await import('../business-left.ts')).businessLeft(name, flags, console.log))) process.exitCode = 1
    })

  program
    .command('viewer')
    .description(
      "Export the data of a viewer, or erase all that is stored of them: 'viewer export ID', 'viewer erase ID'. An export leaves out undone marks, owned subjects, journals, and rewards in the log. May run beside the service, and may be repeated. An erasure ends with status 1 if something is left",
    )
    .argument('<what>', 'export or erase')
    .argument('<id>', "the viewer's id")
    .option('--out <file>', 'write the export to this file')
    .option('--verify', 'erase nothing, and count the data that is left')
    .option('--compact', 'also rewrite the data files without free pages. No process may use the data folder')
    .option('--report <file>', 'write the report of the erasure to this file; with --verify, check this report')
    .option('--exports <paths...>', 'files and folders of exports, from which the viewer is erased too')
    .option(...DATA)
    .option(...CONFIG)
    .action(async (what: string, id: string, flags) => (await import('../privacy/viewer.ts')).viewer(what, id, flags, console.log))
}

function addMigratePlayed(program: Command): void {
  program
    .command('migrate-played')
    .description(
      'Migrate the plays of viewers from a Redis of sorted sets (existence.legacy). Ends with status 1 if something is missing or wrong',
    )
    .requiredOption('--users <file>', 'file with the ids of viewers, one per line; may be gzipped')
    .option(
      '--from <address>',
      'redis://host:port of the legacy store. Only --verify-only accepts another address than existence.legacy.urls',
    )
    .option('--username <name>', 'user name of the legacy store (existence.legacy.username)')
    .option('--password <@file>', 'password of the legacy store (existence.legacy.password)')
    .option('--key <template>', "key of a viewer's set with {viewer} and {business} or {number} (existence.legacy.key)")
    .addOption(new Option('--score <unit>', 'the unit of scores (existence.legacy.score)').choices(LEGACY_SCORES))
    .option('--business <names>', 'businesses, separated by commas (default: all of existence.legacy.businesses)', (text) =>
      text.split(','),
    )
    .option('--rate <number>', 'viewers that are listed per second', wholeFrom(1, 1_000_000), 5_000)
    .option('--resume <file>', 'keep the progress of the listing in this file, and continue from it')
    .option('--dry-run', 'check the file and the keys, and change nothing')
    .option('--no-wait', 'do not wait until the job has folded the plays in, after the end of the hour')
    .option('--patience <minutes>', 'stop waiting if no viewer was folded in for this long', wholeFrom(0, 100_000), 180)
    .option('--verify', 'then check that all plays of the legacy store are in Tidemark')
    .option('--verify-only', 'list no viewer, only verify')
    .option('--sample <number>', 'verify one viewer in this number', wholeFrom(1, 1_000_000_000), 1)
    .option('--repair', 'record missing plays again')
    .option(...DATA)
    .option(...CONFIG)
    .action(async (flags) => {
      if (!(await (await import('../migrate/migrate-played.ts')).migratePlayed(flags, console.log))) process.exitCode = 1
    })
}
