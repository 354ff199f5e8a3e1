/**
 * The options and arguments of every command. An action imports the code of its command when it runs, so a command loads only its own
 * code. An action that fails without an error sets `process.exitCode`.
 */
import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { Command, Option } from 'commander'
import { CONFLICT_RULES } from '../core/domain.ts'
import type { ErrorCode } from '../core/errors.ts'
import { addData } from './program/data.ts'
import {
  PORT,
  HOST,
  DATA,
  JOURNAL_DATA,
  SUPERGRAPH,
  CONFIG,
  WITHOUT_AUTHORIZATION,
  GRAPH,
  GRAPH_BESIDE,
  fromZeroTo,
  wholeFrom,
} from './program/options.ts'
import { subgraphNamesText } from '../subgraphs/names.ts'

export function makeProgram(): Command {
  const program = new Command('tidemark')
    .description('Watch history, likes, home feeds and feed de-duplication as federated GraphQL.')
    .configureOutput({ outputError: (text, write) => write(withCode(text)) })
    .option('-V, --version', 'print the version')
    .on('option:version', printVersion)
  addServing(program.commandsGroup('Serving:'))
  addDeployment(program.commandsGroup('Deployment:'))
  addGraph(program.commandsGroup('Supergraph and operations:'))
  addData(program.commandsGroup('Stored data:'))
  addTestData(program.commandsGroup('Test data:'))
  return program
}

/** The `version` method of commander takes the version itself. Every command would then read package.json at its start. */
function printVersion(): void {
  const { version } = JSON.parse(readFileSync(findPackageJSON(import.meta.url) as string, 'utf8')) as { version: string }
  console.log(version)
  process.exit()
}

/**
 * The text of commander about a wrong argument or option as one sentence with a code: "error: unknown option '--x'". A text about an invalid
 * value says which values are valid. All others point to the help.
 */
function withCode(text: string): string {
  const [mistake = '', advice = 'add --help to see arguments and options'] = text.replace(/^error: /, '').split(/(?<= is invalid)\. /)
  return `${'CONFIG_INVALID' satisfies ErrorCode}: ${oneLine(mistake)}: ${oneLine(advice)}\n`
}

function oneLine(text: string): string {
  return text
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ')
    .replace(/\.$/, '')
}

function addServing(program: Command): void {
  program
    .command('start')
    .description(
      'Serve everything in one process: gateway, subgraphs and jobs. Uses the embedded stores unless Redis, Kafka and MySQL are set',
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
    .description('Serve one subgraph alone on Apollo Server, for a supergraph of your own')
    .argument('<name>', subgraphNamesText())
    .option(...PORT)
    .option(...HOST)
    .option(...DATA)
    .option(...WITHOUT_AUTHORIZATION)
    .option(...CONFIG)
    .action(async (name: string, flags) => (await import('./subgraph.ts')).subgraph(name, flags))

  program
    .command('gateway')
    .description('Serve requests only, on Redis, Kafka and MySQL. Jobs run in other processes')
    .option(...PORT)
    .option(...HOST)
    .option(...JOURNAL_DATA)
    .option(...SUPERGRAPH)
    .option(...CONFIG)
    .action(async (flags) => (await import('./start.ts')).start('gateway', flags))

  program
    .command('job')
    .description('Run the job of one subgraph, on Redis, Kafka and MySQL. Several processes share the work')
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
    .description('Create or update the tables and topics of the distributed shape. May be repeated')
    .option('--print', 'print the schema of the record store as SQL and change nothing')
    .option(...JOURNAL_DATA)
    .option(...CONFIG)
    .action(async (flags) => {
      if (!(await (await import('./migrate-stores.ts')).migrate(flags, console.log, console.error))) process.exitCode = 1
    })

  program
    .command('doctor')
    .description('Check Redis, Kafka and MySQL, and print each finding with its correction. Ends with status 1 if something is wrong')
    .option(...JOURNAL_DATA)
    .option(...CONFIG)
    .action(async (flags) => {
      if (!(await (await import('./doctor.ts')).doctor(flags, console.log))) process.exitCode = 1
    })

  program
    .command('config')
    .description(
      "Change settings while processes run: 'config get', 'check FILE', 'set FILE', 'diff FILE', 'diff VERSION [VERSION]', 'history', 'rollback VERSION'. 'config print' shows the configuration in effect, with the source of each setting. 'config schema' prints its JSON Schema",
    )
    .argument('<what>', 'get, check, set, diff, history, rollback, print or schema')
    .argument('[arguments...]', 'a YAML or JSON file with live settings, or a version')
    .option('--expect <version>', 'the version that `set` replaces. Default: that of the first line of the file, as `config get` prints it')
    .option('--note <text>', 'a note for `history`')
    .option('--live', 'the schema of a live version, not that of tidemark.yaml')
    .option(...DATA)
    .option(...CONFIG)
    .action(async (what: string, args: string[], flags) =>
      (await import('./configuration/command.ts')).config(what, args, flags, console.log),
    )

  program
    .command('plan')
    .description('Estimate processes, memory, disk and cost for the demand of a site, with the assumptions. Asks no server')
    .requiredOption('--viewers <number>', 'viewers with stored data', wholeFrom(1, 1e12))
    .option('--actives <number>', 'viewers who come on one day (default: a fifth of all)', wholeFrom(0, 1e12))
    .option('--watch-minutes <number>', 'minutes that an active viewer watches on one day (default 60)', wholeFrom(0, 1_440))
    .option('--heartbeat <seconds>', 'seconds between two reports of a player (default 15)', wholeFrom(1, 3_600))
    .option('--pages <number>', 'pages that an active viewer opens on one day (default 20)', wholeFrom(0, 100_000))
    .option('--lookups <number>', 'lookups of a page: subjects times fields (default 150)', wholeFrom(0, 100_000))
    .option('--likes <number>', 'likes that an active viewer gives on one day (default 1)', wholeFrom(0, 100_000))
    .option('--records <number>', 'records of progress that are kept per viewer (default 200)', wholeFrom(0, 1e9))
    .option('--likes-stored <number>', 'likes of all viewers that are kept (default: 20 per viewer)', wholeFrom(0, 1e15))
    .option('--subjects <number>', 'subjects with likes (default: one per 100 likes)', wholeFrom(0, 1e12))
    .option('--peak <factor>', 'the busiest second, as a multiple of the mean (default 3)', wholeFrom(1, 1_000))
    .option('--writes <number>', 'reports of the busiest second, in place of the computed ones', wholeFrom(0, 1e9))
    .option('--reads <number>', 'lookups of the busiest second, in place of the computed ones', wholeFrom(0, 1e9))
    .option('--price-core <number>', 'monthly price of a core', fromZeroTo(1e6), 25)
    .option('--price-memory <number>', 'monthly price of a GB of memory', fromZeroTo(1e6), 3)
    .option('--price-disk <number>', 'monthly price of a GB of disk', fromZeroTo(1e6), 0.1)
    .option('--json', 'print all figures as JSON')
    .option(...CONFIG)
    .action(async (flags) => (await import('./plan.ts')).plan(flags, console.log))

  program
    .command('audit')
    .description('Check the guarantees of a running deployment through its API. Ends with status 1 if it breaks one')
    .argument('<url>', 'address of the API, such as http://127.0.0.1:4000')
    .option('--second <address>', 'the API of another process: it must read everything that the first one acknowledges')
    .option('--job <address>', 'a process of "job history", if the process at <url> does not run that job. The audit reads its metrics')
    .option('--secret <@file>', 'the key of HS256 tokens (auth.secret, TIDEMARK_JWT_SECRET), to sign tokens of test viewers')
    .option('--private-key <file>', 'the private key of auth.publicKey, in PEM form, to sign tokens of test viewers')
    .option('--issuer <text>', 'the issuer these tokens name (auth.issuer)')
    .option('--audience <text>', 'the audience these tokens name (auth.audience)')
    .option('--token <@file>', 'a token of one viewer, if there is no key. Some checks are left out')
    .option('--business <name>', 'the business to check (default: the first configured one of video, article, comic, audio)')
    .addOption(new Option('--conflict <rule>', 'the conflict rule of this business').choices(CONFLICT_RULES).default('newest'))
    .option('--no-glance', 'the business has no glances (glanceMax: 0)')
    .option(
      '--wait <seconds>',
      'time limit of the write-back and of counts for all viewers; 0 leaves out the checks that wait for them',
      wholeFrom(0, 86_400),
      150,
    )
    .option('--only <ids>', 'only checks with ids that begin with these, separated by commas', (text) => text.split(','))
    .action(async (url: string, flags) => {
      const { auditFromFlags } = await import('./audit.ts')
      if (!(await auditFromFlags(url, flags, console.log))) process.exitCode = 1
    })
}

function addGraph(program: Command): void {
  program
    .command('compose')
    .description("Compose the supergraph of Tidemark's and partners' subgraphs")
    .option(...GRAPH)
    .option(...GRAPH_BESIDE)
    .option('--out <file>', 'write to this file')
    .action(async (flags) => (await import('./compose.ts')).compose(flags, console.log, console.error))

  program
    .command('schema')
    .description('Print the SDL of the API that clients see, or of one subgraph. A process serves the same at /graphql/schema.graphql')
    .option(...GRAPH)
    .option(...GRAPH_BESIDE)
    .option('--subgraph <name>', "only this subgraph of Tidemark's, as other composers read it")
    .option(...WITHOUT_AUTHORIZATION)
    .option('--out <file>', 'write to this file')
    .action(async (flags) => (await import('./schema.ts')).schema(flags, console.log))

  program
    .command('check')
    .description(
      'Check whether a graph can be served: compose it, compare it, plan known operations. Ends with status 1 if something breaks',
    )
    .option(...GRAPH)
    .option(...GRAPH_BESIDE)
    .option('--against <graph>', 'the current graph: a supergraph, a supergraph.yaml, the SDL of the API, or its address')
    .option(
      '--operations <path>',
      'operations of clients: a manifest, or a folder of manifests and .graphql files. Then only changes that break one of them count',
    )
    .option('--cost-max <points>', 'cost limit of an operation (server.operationCostMax)')
    .option('--lint', 'print only the warnings')
    .option('--json', 'print one JSON object')
    .action(async (flags) => {
      if (!(await (await import('./check.ts')).check(flags, console.log))) process.exitCode = 1
    })

  program
    .command('persist')
    .description('Build a manifest of persisted operations from a folder of .graphql files')
    .argument('<folder>', 'folder of the .graphql files')
    .option('--out <file>', 'write to this file; without it, the manifest is printed')
    .addOption(
      new Option('--format <form>', "the form of the manifest: Apollo's, or Relay's {id: text}")
        .choices(['apollo', 'relay'])
        .default('apollo'),
    )
    .option('--client <name>', 'only this client program may call the operations by their ids')
    .option('--schema <file>', 'check the operations against the SDL of the API, a supergraph, a supergraph.yaml or a tidemark.yaml')
    .option('--url <address>', 'check the operations against the schema of this running service')
    .option('--token <jwt>', 'a token for --url')
    .action(async (folder: string, flags) => (await import('./persist.ts')).persist(folder, flags, console.log))
}

function addTestData(program: Command): void {
  program
    .command('replay')
    .description('Send recorded interactions through the API. The file has viewer, subject and time, as TSV or JSONL, and may be gzipped')
    .argument('<file>', 'file with the interactions')
    .option('--url <address>', 'address of the API', 'http://127.0.0.1:4000/graphql')
    .option('--heartbeats <number>', 'reports per row, 15 s apart', wholeFrom(1, 10_000), 1)
    .option('--batch <number>', 'reports per call', wholeFrom(1, 500), 500)
    .option('--concurrency <number>', 'concurrent calls', wholeFrom(1, 256), 8)
    .option('--business <name>', 'business of rows without one', 'video')
    .option(
      '--token <@file>',
      'a token with the scope progress:write-any, or marks:write-any and subjects:register. Without it, the headers of development are used',
    )
    .option('--no-wait', 'do not wait until everything is in the record store')
    .option('--marks', 'send likes and dislikes in place of progress; a hash of viewer and subject decides which', false)
    .option('--verify', 'then compare the answers of the API with a recount of the file (in development)', false)
    .option('--verify-only', 'send nothing and compare', false)
    .option('--job <address>', 'address of the job, if the process at --url does not run it')
    .action(async (file: string, { marks, ...flags }) => {
      const run = marks ? (await import('./replay/replay-marks.ts')).replayMarks : (await import('./replay/replay.ts')).replay
      if (!(await run(file, { token: undefined, job: undefined, ...flags }, console.log))) process.exitCode = 1
    })

  program
    .command('sample')
    .description(
      'Print realistic reports as JSONL: Zipf subjects, sessions with heartbeats, many devices. A seed always gives the same reports',
    )
    .option('--reports <number>', 'number of lines', wholeFrom(1, 1_000_000_000), 10_000)
    .option('--viewers <number>', 'number of viewers', wholeFrom(1, 100_000_000), 1_000)
    .option('--subjects <number>', 'number of subjects', wholeFrom(1, 10_000_000), 10_000)
    .option('--skew <number>', 'exponent of the Zipf law', fromZeroTo(100), 1)
    .option('--seed <number>', 'seed of the generator', wholeFrom(0, 2 ** 32 - 1), 1)
    .option('--from <milliseconds>', 'time of the first session, in milliseconds since the epoch', wholeFrom(0, 2 ** 42), 1_700_000_000_000)
    .option('--businesses <names>', 'businesses, separated by commas', (text) => text.split(','), ['video', 'article', 'comic'])
    .action(async (flags) => (await import('./replay/sample-print.ts')).printSample(flags))
}
