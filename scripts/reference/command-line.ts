/** docs/reference/command-line.md: the commands of cli/program.ts with their arguments and options. */
import type { Argument, Command, Option } from 'commander'
import { code, codes, page, prose, refuseUnused, sentence, table, type Page } from './page.ts'

const FILE = 'scripts/reference/command-line.ts'

/** The page that explains each command. */
const EXPLAINED: Readonly<Record<string, readonly [title: string, path: string]>> = {
  start: ['Deploy', '../operating/deploy.md'],
  subgraph: ['A standalone subgraph', '../gateway/standalone-subgraph.md'],
  gateway: ['Deploy', '../operating/deploy.md#distributed'],
  job: ['Deploy', '../operating/deploy.md#distributed'],
  migrate: ['Deploy', '../operating/deploy.md#distributed'],
  doctor: ['Doctor', '../operating/doctor.md'],
  audit: ['Upgrade', '../operating/upgrade.md#afterwards'],
  plan: ['Plan a deployment', '../operating/plan.md'],
  config: ['Live configuration', '../operating/live-configuration.md'],
  compose: ['Partners', '../gateway/partners.md'],
  check: ['Partners', '../gateway/partners.md#check-a-change-first'],
  schema: ['A standalone subgraph', '../gateway/standalone-subgraph.md'],
  persist: ['Persisted operations', '../gateway/persisted-operations.md'],
  events: ['Rewards of a day', '../operating/rewards.md#events'],
  inspect: ['Backup and restore', '../operating/backup-and-restore.md#look-into-the-stores'],
  journal: ['The journal', '../operating/journal.md'],
  reconcile: ['Tenants', '../operating/tenants.md#check-counts'],
  viewer: ['Data of a viewer', '../operating/privacy.md'],
  backup: ['Backup and restore', '../operating/backup-and-restore.md#embedded'],
  restore: ['Backup and restore', '../operating/backup-and-restore.md#embedded'],
  export: ['Move data', '../operating/move.md#export'],
  import: ['Move data', '../operating/move.md#import'],
  'business-left': ['Tenants', '../operating/tenants.md#remove-a-business'],
  'migrate-played': ['Migration from sorted sets', '../operating/migration.md'],
  replay: ['Deploy', '../operating/deploy.md#rehearse-with-traffic'],
  sample: ['Deploy', '../operating/deploy.md#rehearse-with-traffic'],
}

const INTRODUCTION = [
  'This page lists every command. In the repository, run a command as `npm run tidemark -- COMMAND`; with the npm package, as `tidemark COMMAND`. `tidemark COMMAND --help` prints the same options. `tidemark --version` prints the version.',
  'An option wins over a variable, and a variable wins over `tidemark.yaml`; see [Configuration](../operating/configuration.md). For an option with `<@file>`, the value may be `@` and the path of a file that contains it.',
  'If a command fails, it prints the error code and a sentence. It ends with status 1, unless its description names another status.',
]

export function commandLinePage(program: Command): Page {
  const groups = Map.groupBy(program.commands, (command) => command.helpGroup())
  const blocks = [...groups].flatMap(([group, commands]) => [`## ${group.replace(/:$/, '')}`, ...commands.flatMap(commandBlocks)])
  refuseUnused(
    'command',
    Object.keys(EXPLAINED),
    program.commands.map((command) => command.name()),
    FILE,
  )
  return page('docs/reference/command-line.md', 4, 'Command line', [...INTRODUCTION, ...blocks])
}

function commandBlocks(command: Command): string[] {
  const explained = EXPLAINED[command.name()]
  if (explained === undefined) {
    throw new Error(`the command "${command.name()}" has no page that explains it: add one in ${FILE}`)
  }
  const [title, path] = explained
  return [
    `### ${code(command.name())}`,
    prose(sentence(command.description())),
    `\`\`\`sh\ntidemark ${command.name()} ${command.usage()}\n\`\`\``,
    command.registeredArguments.length === 0 ? '' : table(['argument', 'meaning', 'default'], command.registeredArguments.map(argumentRow)),
    command.options.length === 0 ? '' : table(['option', 'meaning', 'default'], command.options.map(optionRow)),
    `Explained in [${title}](${path}).`,
  ]
}

function argumentRow(argument: Argument): string[] {
  return [code(argument.name()), meaning(argument.description, argument.argChoices), shown(argument.defaultValue)]
}

function optionRow({ flags, description, argChoices, defaultValue, negate, mandatory }: Option): string[] {
  return [
    code(flags),
    meaning(description, argChoices),
    mandatory ? 'required' : negate || defaultValue === false ? '–' : shown(defaultValue),
  ]
}

function meaning(description: string, choices: readonly string[] | undefined): string {
  return `${prose(description)}${choices === undefined ? '' : ` (${codes(choices)})`}`
}

function shown(value: unknown): string {
  if (value === undefined) return '–'
  return code(Array.isArray(value) ? value.join(',') : typeof value === 'string' ? value : JSON.stringify(value))
}
