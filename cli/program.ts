/**
 * The options and arguments of every command. An action imports the code of its command when it runs, so a command loads only its own
 * code. An action that fails without an error sets `process.exitCode`.
 */
import { Command, InvalidArgumentError, Option } from 'commander'
import { LEGACY_SCORES } from '../config/legacy.ts'
import { CONFLICT_RULES } from '../core/domain.ts'
import { subgraphNamesText } from '../subgraphs/names.ts'

const PORT = ['--port <number>', 'port to listen on (PORT, default 4000)'] as const
const HOST = ['--host <address>', 'address to listen on (HOST, default 127.0.0.1)'] as const
const DATA = ['--data <folder>', 'folder of the embedded stores (TIDEMARK_DATA, default ./data)'] as const
const JOURNAL_DATA = [
  '--data <folder>',
  'folder of the journal, on a disk that outlives the process (TIDEMARK_DATA, default ./data)',
] as const
const SUPERGRAPH = [
  '--supergraph <file>',
  "supergraph.yaml with partners' subgraphs, or a composed supergraph (TIDEMARK_SUPERGRAPH)",
] as const
const CONFIG = ['--config <file>', 'configuration (TIDEMARK_CONFIG, default tidemark.yaml if it exists)'] as const
const GRAPH = ['--config <file>', 'supergraph.yaml, as rover has it; or tidemark.yaml, which names one'] as const
const GRAPH_BESIDE = ['--supergraph <file>', 'supergraph.yaml, beside a --config that is tidemark.yaml'] as const

export function makeProgram(): Command {
  const program = new Command('tidemark')
    .description('Watch history, likes and feed de-duplication as federated GraphQL.')
    .showHelpAfterError('(add --help for what is possible)')
  addServing(program.commandsGroup('Serving:'))
  addDeployment(program.commandsGroup('Deployment:'))
  addGraph(program.commandsGroup('Supergraph and operations:'))
  addData(program.commandsGroup('Stored data:'))
  addTestData(program.commandsGroup('Test data:'))
  return program
}

function addServing(program: Command): void {
  program
    .command('start')
    .description(
      'Serve everything in one process: gateway, subgraphs and jobs; on the embedded stores, or on Redis, Kafka and MySQL if they are set',
    )
    .option('--port <number>', 'port to listen on; 0 picks a free one (PORT, default 4000)')
    .option(...HOST)
    .option(...DATA)
    .option('--workers <number>', 'processes that answer requests and share the data folder (default 1)')
    .option(...SUPERGRAPH)
    .option(...CONFIG)
    .action(async (flags) => (await import('./start.ts')).start('start', flags))

  program
    .command('subgraph')
    .description('Serve one subgraph alone, on Apollo Server, for a supergraph of your own')
    .argument('<name>', subgraphNamesText())
    .option(...PORT)
    .option(...HOST)
    .option(...DATA)
    .option(...CONFIG)
    .action(async (name: string, flags) => (await import('./subgraph.ts')).subgraph(name, flags))

  program
    .command('gateway')
    .description('Serve requests only, on Redis, Kafka and MySQL; jobs run elsewhere')
    .option(...PORT)
    .option(...HOST)
    .option(...JOURNAL_DATA)
    .option(...SUPERGRAPH)
    .option(...CONFIG)
    .action(async (flags) => (await import('./start.ts')).start('gateway', flags))

  program
    .command('job')
    .description('Persist only, on Redis, Kafka and MySQL; any number of them share the work')
    .argument('<name>', subgraphNamesText())
    .option('--port <number>', 'port of health checks and metrics (PORT, default 4000)')
    .option(...HOST)
    .option(...JOURNAL_DATA)
    .option(...CONFIG)
    .action(async (name: string, flags) => (await import('./job.ts')).job(name, flags))
}

function addDeployment(program: Command): void {
  program
    .command('migrate')
    .description('Create or update tables and topics of the distributed shape; may be repeated')
    .option('--print', 'print the schema of the record store as SQL and change nothing')
    .option(...JOURNAL_DATA)
    .option(...CONFIG)
    .action(async (flags) => {
      if (!(await (await import('./operate.ts')).migrate(flags, console.log, console.error))) process.exitCode = 1
    })

  program
    .command('doctor')
    .description('Ask Redis, Kafka and MySQL whether they are there and fit, and say what to do')
    .option(...JOURNAL_DATA)
    .option(...CONFIG)
    .action(async (flags) => {
      if (!(await (await import('./operate.ts')).doctor(flags, console.log))) process.exitCode = 1
    })

  program
    .command('audit')
    .description('Check that a running deployment keeps its promises, by its address; ends with status 1 if it breaks one')
    .argument('<url>', 'the API, such as http://127.0.0.1:4000')
    .option('--second <address>', 'the API of another process of the deployment: what one acknowledges the other must read')
    .option('--job <address>', 'a process of "job history", if the API does not run it: its metrics say what the write-back has left')
    .option('--secret <@file>', 'the key of HS256 tokens (auth.secret), or TIDEMARK_JWT_SECRET: signs tokens for viewers of its own')
    .option('--private-key <file>', 'the private key, in PEM form, whose public key is auth.publicKey: does the same')
    .option('--issuer <text>', 'the issuer these tokens name (auth.issuer)')
    .option('--audience <text>', 'the audience these tokens name (auth.audience)')
    .option('--token <@file>', 'a token of one viewer, where no key can be had: less can be checked')
    .option('--business <name>', 'the business to try (default the first of video, article, comic, audio that is configured)')
    .addOption(new Option('--conflict <rule>', 'the rule of this business').choices(CONFLICT_RULES).default('newest'))
    .option('--no-glance', 'this business takes no report for a glance (glanceMax: 0)')
    .option(
      '--wait <seconds>',
      'how long the write-back, and counts for everybody, may take; 0 leaves out what depends on it',
      wholeFrom(0, 86_400),
      150,
    )
    .option('--only <ids>', 'checks whose ids begin with these, separated by commas', (text) => text.split(','))
    .action(async (url: string, flags) => {
      const { auditFromFlags } = await import('./audit.ts')
      if (!(await auditFromFlags(url, flags, console.log))) process.exitCode = 1
    })
}

function addGraph(program: Command): void {
  program
    .command('compose')
    .description("Print the supergraph of our subgraphs and partners'")
    .option(...GRAPH)
    .option(...GRAPH_BESIDE)
    .option('--out <file>', 'write it there')
    .action(async (flags) => (await import('./compose.ts')).compose(flags, console.log, console.error))

  program
    .command('check')
    .description(
      'May this graph be served? Composes it, compares it, plans known operations, warns; ends with status 1 if something breaks',
    )
    .option(...GRAPH)
    .option(...GRAPH_BESIDE)
    .option('--against <graph>', 'what is served now: a supergraph, a supergraph.yaml, the SDL of the API, or its address')
    .option('--operations <path>', 'what clients send: a manifest, or a folder of manifests and .graphql files; then only its breaks count')
    .option('--cost-max <points>', 'what an operation may cost (server.operationCostMax)')
    .option('--lint', 'say the warnings only')
    .option('--json', 'one JSON object')
    .action(async (flags) => {
      if (!(await (await import('./check.ts')).check(flags, console.log))) process.exitCode = 1
    })

  program
    .command('persist')
    .description('Build a manifest of persisted operations from a folder of .graphql files')
    .argument('<folder>')
    .option('--out <file>', 'where to; without it, it is printed')
    .addOption(new Option('--format <form>', "Apollo's manifest, or Relay's {id: text}").choices(['apollo', 'relay']).default('apollo'))
    .option('--client <name>', 'only this client program may call the operations by their ids')
    .option('--schema <file>', 'check the operations against this: the SDL of the API, a supergraph, a supergraph.yaml or a tidemark.yaml')
    .option('--url <address>', 'check them against the schema of this running service')
    .option('--token <jwt>', 'a token for --url')
    .action(async (folder: string, flags) => (await import('./persist.ts')).persist(folder, flags, console.log))
}

function addData(program: Command): void {
  program
    .command('inspect')
    .description("Show what the stores hold: 'inspect viewer ID' or 'inspect stores'")
    .argument('<what>', 'viewer or stores')
    .argument('[id]', "the viewer's id")
    .option(
      '--filters <folder>',
      "writes the filters of the viewer's months there, such as 2026-11.filter; examples/read-filter reads them",
    )
    .option(...DATA)
    .option(...CONFIG)
    .action(async (what: string, id: string | undefined, flags) => (await import('./inspect.ts')).inspect(what, id, flags, console.log))

  program
    .command('journal')
    .description("What waits in this machine's journals for the hot store, and what was set aside: 'journal', 'journal put-back all'")
    .argument('[what]', 'list or put-back', 'list')
    .argument('[entries...]', 'those to put back, as the list shows them, such as journal-0/17; or all')
    .option('--data <folder>', 'folder of the journals (TIDEMARK_DATA, default ./data)')
    .option(...CONFIG)
    .action(async (what: string, entries: string[], flags) => (await import('./journal.ts')).journal(what, entries, flags, console.log))

  program
    .command('reconcile')
    .description(
      'Count all stored marks again and compare; ends with status 1 if any count differs, else with 3 if something is damaged or the command fails, else with 2 if a record store does not answer',
    )
    .option('--business <name>', 'only this one (default all that have likes)')
    .option(...DATA)
    .option(...CONFIG)
    .action(async (flags) => {
      const { FAILED, exitStatus, reconcile } = await import('./reconcile.ts')
      process.exitCode = FAILED
      process.exitCode = exitStatus(await reconcile(flags, console.log))
    })

  program
    .command('export-business')
    .description('Print the marks and the owners of a business as JSONL')
    .argument('<name>')
    .option('--out <file>', 'write it there')
    .option(...DATA)
    .option(...CONFIG)
    .action(async (name: string, flags) =>
      (await import('./export-business.ts')).exportBusiness(name, flags, process.stdout, console.error),
    )

  program
    .command('business-left')
    .description('Say what the stores hold of the marks of a business; ends with status 1 if it is deleted and something is left')
    .argument('<name>')
    .option(...DATA)
    .option(...CONFIG)
    .action(async (name: string, flags) => {
      if (!(await (await import('./business-left.ts')).businessLeft(name, flags, console.log))) process.exitCode = 1
    })

  addMigratePlayed(program)
}

function addMigratePlayed(program: Command): void {
  program
    .command('migrate-played')
    .description(
      'Move what viewers have watched from a Redis of sorted sets (existence.legacy); ends with status 1 if something is missing or wrong',
    )
    .requiredOption('--users <file>', 'ids of viewers, one a line, may be gzipped')
    .option(
      '--from <address>',
      'redis://host:port of the old store; with --verify-only another one than existence.legacy.urls, by which services and jobs go',
    )
    .option('--username <name>', 'of the old store (existence.legacy.username)')
    .option('--password <@file>', 'of the old store (existence.legacy.password)')
    .option('--key <template>', "key of a viewer's set with {viewer} and {business} or {number} (existence.legacy.key)")
    .addOption(new Option('--score <unit>', 'what scores are (existence.legacy.score)').choices(LEGACY_SCORES))
    .option('--business <names>', 'separated by commas (default: all of existence.legacy.businesses)', (text) => text.split(','))
    .option('--rate <number>', 'viewers listed per second', wholeFrom(1, 1_000_000), 5_000)
    .option('--resume <file>', 'keeps how far the listing came, and goes on there')
    .option('--dry-run', 'look at file and keys, and change nothing')
    .option('--no-wait', 'do not wait until the job has folded them in, which it does when the hour is over')
    .option('--patience <minutes>', 'waits no longer than so long for anybody to be folded in', wholeFrom(0, 100_000), 180)
    .option('--verify', 'then look whether everything they have in the old store is here')
    .option('--verify-only', 'list nobody, and look')
    .option('--sample <number>', 'verify one in so many viewers', wholeFrom(1, 1_000_000_000), 1)
    .option('--repair', 'record again what is missing here')
    .option(...DATA)
    .option(...CONFIG)
    .action(async (flags) => {
      if (!(await (await import('./migrate/migrate-played.ts')).migratePlayed(flags, console.log))) process.exitCode = 1
    })
}

function addTestData(program: Command): void {
  program
    .command('replay')
    .description('Send recorded interactions (TSV or JSONL of viewer, subject, time; may be gzipped) through the API')
    .argument('<file>')
    .option('--url <address>', 'the API', 'http://127.0.0.1:4000/graphql')
    .option('--heartbeats <number>', 'reports per row, 15 s apart', wholeFrom(1, 10_000), 1)
    .option('--batch <number>', 'reports per call', wholeFrom(1, 500), 500)
    .option('--concurrency <number>', 'calls under way at once', wholeFrom(1, 256), 8)
    .option('--business <name>', 'business of rows that name none', 'video')
    .option(
      '--token <@file>',
      'a token with the scope progress:write-any, or marks:write-any and subjects:register; without it the headers of development are used',
    )
    .option('--no-wait', 'do not wait until everything is in the record store')
    .option('--marks', 'as likes and dislikes instead of progress: cli/replay/marks-of-rows.ts says which', false)
    .option('--verify', 'then compare what the API answers with a recount of the file (in development)', false)
    .option('--verify-only', 'send nothing and compare', false)
    .option('--job <address>', 'the job, if another process runs it than the one at --url')
    .action(async (file: string, { marks, ...flags }) => {
      const run = marks ? (await import('./replay/replay-marks.ts')).replayMarks : (await import('./replay/replay.ts')).replay
      if (!(await run(file, { token: undefined, job: undefined, ...flags }, console.log))) process.exitCode = 1
    })

  program
    .command('sample')
    .description('Print realistic reports as JSONL: Zipf subjects, sessions with heartbeats, many devices; the same for the same seed')
    .option('--reports <number>', 'lines', wholeFrom(1, 1_000_000_000), 10_000)
    .option('--viewers <number>', 'viewers', wholeFrom(1, 100_000_000), 1_000)
    .option('--subjects <number>', 'subjects', wholeFrom(1, 10_000_000), 10_000)
    .option('--skew <number>', 'exponent of the Zipf law', fromZero, 1)
    .option('--seed <number>', 'seed', wholeFrom(0, 2 ** 32 - 1), 1)
    .option('--from <milliseconds>', 'time of the first session, since the epoch', wholeFrom(0, 2 ** 42), 1_700_000_000_000)
    .option('--businesses <names>', 'separated by commas', (text) => text.split(','), ['video', 'article', 'comic'])
    .action(async (flags) => (await import('./replay/sample-print.ts')).printSample(flags))
}

function fromZero(text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && value >= 0 && value <= 100) return value
  throw new InvalidArgumentError('give a number from 0 to 100.')
}

function wholeFrom(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (Number.isInteger(value) && value >= minimum && value <= maximum) return value
    throw new InvalidArgumentError(`give a whole number from ${minimum} to ${maximum}.`)
  }
}
