import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { VARIABLES } from '../../cli/process/environment.ts'
import { makeProgram } from '../../cli/program.ts'
import { configSchema } from '../../config/config.ts'
import { collectMetrics } from '../../scripts/reference/collect-metrics.ts'
import { commandLinePage } from '../../scripts/reference/command-line.ts'
import { configurationPage } from '../../scripts/reference/configuration.ts'
import { metricsPage, readMetrics, type MetricSources } from '../../scripts/reference/metrics.ts'
import { otherWays, referencePages } from '../../scripts/reference/pages.ts'
import { createdTable, tableBlocks } from '../../scripts/reference/tables.ts'
import { topicTable } from '../../scripts/reference/topics-and-tables.ts'
import { openRepository } from '../../scripts/repository.ts'
import { wantedTopics } from '../../stores/kafka/topics.ts'
import { plantedRepository } from './planted.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const committed = (name: string) => readFileSync(join(ROOT, 'docs', 'reference', name), 'utf8')

test('every page fits the code', async () => {
  for (const { path, text } of await referencePages()) expect(readFileSync(join(ROOT, path), 'utf8'), path).toBe(text)
})

describe('the script', () => {
  const { plant, script } = plantedRepository()

  test('writes the pages, and --check then names a page that was changed', () => {
    expect(script('reference')).toEqual({ status: 0, findings: [], printed: [] })
    plant('docs/reference/configuration.md', committed('configuration.md').replace('`4000`', '`4001`'))
    expect(script('reference', '--check')).toEqual({
      status: 1,
      findings: ['docs/reference/configuration.md no longer fits the code: run "npm run reference" and commit the result'],
      printed: [],
    })
  })
})

describe('configuration', () => {
  const history = configSchema.shape.history.removeDefault()

  test('a new setting appears with its values, its default and its description', () => {
    const plantedMs = z.number().int().min(1).max(90_000).default(60_000).describe('A planted setting')
    const { text } = configurationPage(configSchema.extend({ history: history.extend({ plantedMs }) }), otherWays())
    expect(committed('configuration.md')).not.toContain('plantedMs')
    expect(text).toContain('| `history.plantedMs` | `60000` (1 minute) | A planted setting.<br>1 to 90,000 milliseconds |')
  })

  test('a setting without a description and a section without an introduction are errors', () => {
    const silent = configSchema.extend({ history: history.extend({ planted: z.boolean() }) })
    expect(() => configurationPage(silent, otherWays())).toThrow('the setting "history.planted" has no description')
    const section = configSchema.extend({ planted: z.object({}) })
    expect(() => configurationPage(section, otherWays())).toThrow('the section "planted" has no introduction')
  })

  test.each([
    ['a list', z.array(z.object({ hiddenMs: z.number() }))],
    ['a mapping', z.record(z.object({ hiddenMs: z.number() }).optional())],
    ['a union', z.array(z.union([z.string(), z.object({ hiddenMs: z.number() })]))],
  ])('settings in the elements of %s are an error, since the page has no rows for them', (_, planted) => {
    const schema = configSchema.extend({ history: history.extend({ planted: planted.describe('A planted setting') }) })
    expect(() => configurationPage(schema, otherWays())).toThrow(
      'the settings of each element of "history.planted" would not be documented',
    )
  })

  test('a value with two kinds of mappings is an error', () => {
    const planted = z.union([z.object({}), z.object({ hiddenMs: z.number() })]).describe('A planted setting')
    const schema = configSchema.extend({ history: history.extend({ planted }) })
    expect(() => configurationPage(schema, otherWays())).toThrow('the setting "history.planted" has two kinds of mappings')
  })

  test('an introduction without a section is an error', () => {
    expect(() => configurationPage(configSchema.omit({ remote: true }), otherWays())).toThrow(
      'the text of the section "remote" describes nothing: remove it from scripts/reference/configuration.ts',
    )
  })

  test('the page has every variable', () => {
    for (const name of Object.keys(VARIABLES)) expect(committed('configuration.md')).toContain(`\`${name}\``)
  })
})

describe('metrics', () => {
  let sources: MetricSources
  beforeAll(async () => {
    sources = await readMetrics(collectMetrics)
  })

  test('a new metric appears with its type, its labels and the commands that serve it', () => {
    const planted = { name: 'tidemark_planted_total', type: 'counter', labels: ['outcome'], help: 'A planted metric' }
    const withPlanted = (parts: MetricSources['all']) => new Map(parts).set('thumbup job', [...(parts.get('thumbup job') ?? []), planted])
    const { text } = metricsPage({ all: withPlanted(sources.all), without: sources.without.map(withPlanted) })
    expect(committed('metrics.md')).not.toContain('tidemark_planted_total')
    expect(text).toContain('| `tidemark_planted_total` | A planted metric.<br>counter, labels `outcome`<br>`job thumbup` |')
  })

  test('a condition that no metric has is an error', () => {
    const without = [sources.all, ...sources.without.slice(1)]
    expect(() => metricsPage({ all: sources.all, without })).toThrow(
      'the text of the condition "If `existence.legacy` is set:" describes nothing',
    )
  })

  test('the page has every metric that the code names', () => {
    const { files, read } = openRepository()
    const named = [...files]
      .filter((path) => /^(cli|gateway)\/.*\.ts$/.test(path))
      .flatMap((path) => [...read(path).matchAll(/^ *(?:name: ')?(tidemark_\w+)(?:'|: \[)/gm)].map(([, name]) => name))
    expect(named.length).toBeGreaterThan(100)
    for (const name of named) expect(committed('metrics.md')).toContain(`| \`${name}\` |`)
  })
})

describe('command line', () => {
  test('a new option appears with its default', () => {
    const program = makeProgram()
    program.commands[0]?.option('--planted <number>', 'a planted option', '7')
    expect(committed('command-line.md')).not.toContain('--planted')
    expect(commandLinePage(program).text).toContain('| `--planted <number>` | a planted option | `7` |')
  })

  test('a command that no page explains is an error', () => {
    const program = makeProgram()
    program.command('planted')
    expect(() => commandLinePage(program)).toThrow('the command "planted" has no page that explains it')
  })

  test('an explanation of a command that is gone is an error', () => {
    const program = makeProgram()
    ;(program.commands as unknown[]).shift()
    expect(() => commandLinePage(program)).toThrow('the text of the command "start" describes nothing')
  })
})

describe('topics', () => {
  test('a topic without a description is an error, and so is a description of a topic that is gone', () => {
    const topics = wantedTopics({ topicPrefix: 'tidemark', progress: true })
    expect(() => topicTable([...topics, { topic: 'tidemark.planted', partitions: 1, config: {} }])).toThrow(
      'the topic "tidemark.planted" has no description',
    )
    expect(() => topicTable(topics.filter(({ topic }) => topic !== 'tidemark.dead'))).toThrow(
      'the text of the topic ".dead" describes nothing',
    )
  })
})

describe('tables', () => {
  test('a description of a column or of a table that is gone is an error', () => {
    const owners = { name: 'owners', primaryKey: 'business', indexes: [], columns: [{ name: 'business', type: 'INT' }] }
    expect(() => tableBlocks([owners])).toThrow('the text of the column "owners.owner" describes nothing')
    expect(() => tableBlocks([])).toThrow('the text of the table "history" describes nothing')
  })

  test('a column or a table without a description is an error, and so is a statement other than CREATE TABLE', () => {
    const owners = { primaryKey: 'business', indexes: [], columns: [{ name: 'planted', type: 'INT' }] }
    expect(() => tableBlocks([{ name: 'owners', ...owners }])).toThrow('the column "owners.planted" has no description')
    expect(() => tableBlocks([{ name: 'planted', ...owners }])).toThrow('the table "planted" has no description')
    expect(() => createdTable('ALTER TABLE owners ADD COLUMN planted INT')).toThrow('does not understand the statement "ALTER TABLE owners')
  })
})
