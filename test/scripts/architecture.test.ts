import { describe, expect, test } from 'vitest'
import { plantedRepository } from './planted.ts'

const { plant, script } = plantedRepository()

describe('arrows', () => {
  test('imports along the arrows pass', () => {
    plant('core/clock.ts', 'export type Clock = () => number\n')
    plant(
      'stores/redis/connection.ts',
      "import type { Clock } from '../../core/clock.ts'\nexport const connect = (clock: Clock) => clock()\n",
    )
    plant(
      'subgraphs/history/stores/redis/put.ts',
      "import { connect } from '../../../../stores/redis/connection.ts'\nexport const put = connect\n",
    )
    plant('cli/start.ts', "import { put } from '../subgraphs/history/stores/redis/put.ts'\nput(Date.now)\n")
    plant('test/put.test.ts', "import { put } from '../subgraphs/history/stores/redis/put.ts'\nput(Date.now)\n")
    expect(script('architecture', 'arrows')).toEqual({ status: 0, findings: [], printed: [] })
  })

  test.each([
    ['core/keys.ts', 'core/outage/breaker.ts', 'core may not import core/outage'],
    ['config/config.ts', 'writeback/log.ts', 'config may not import writeback'],
    ['writeback/journal.ts', 'subgraphs/history/stores/hot-store.ts', 'writeback may not import subgraphs/X/stores'],
    ['stores/redis/connection.ts', 'writeback/log.ts', 'stores/D may not import writeback'],
    ['stores/redis/connection.ts', 'stores/lmdb/room.ts', 'code for redis imports no code for lmdb'],
    ['subgraphs/history/stores/hot-store.ts', 'stores/redis/connection.ts', 'subgraphs/X/stores may not import stores/D'],
    ['subgraphs/history/stores/lmdb/put.ts', 'stores/redis/connection.ts', 'code for lmdb imports no code for redis'],
    ['subgraphs/history/read/page.ts', 'subgraphs/thumbup/model/mark.ts', 'no capability imports another'],
    ['subgraphs/history/read/page.ts', 'subgraphs/history/stores/lmdb/put.ts', 'subgraphs/X may not import subgraphs/X/stores/D'],
    ['loaders/history.ts', 'writeback/log.ts', 'loaders may not import writeback'],
    ['gateway/doors/server.ts', 'subgraphs/names.ts', 'gateway may not import subgraphs'],
    ['conformance/suite.ts', 'config/config.ts', 'conformance may not import config'],
    ['cli/start.ts', 'harness/ports.ts', 'cli may not import harness'],
    ['core/keys.ts', 'bench/run.ts', 'core may not import bench'],
    ['gateway/doors/server.ts', 'test/support/front.ts', 'gateway may not import test'],
    ['harness/ports.ts', 'test/support/front.ts', 'harness may not import test'],
    ['harness/ports.ts', 'bench/run.ts', 'harness may not import bench'],
    ['test/core/keys.test.ts', 'bench/run.ts', 'test may not import bench'],
    ['bench/run.ts', 'test/support/front.ts', 'bench may not import test'],
  ])('%s that imports %s fails', (importer, imported, reason) => {
    const path = `${'../'.repeat(importer.split('/').length - 1)}${imported}`
    plant(imported, 'export type Planted = 1\n')
    plant(importer, `import type {\n  Planted,\n} from '${path}'\nexport const planted: Planted = 1\n`)
    expect(script('architecture', 'arrows')).toMatchObject({ status: 1, findings: [`${importer}:1 imports ${imported}: ${reason}`] })
  })

  test.each([
    ['a re-export', "export type { Planted } from '../gateway/planted.ts'\n"],
    ['an import without names', "import '../gateway/planted.ts'\n"],
    ['a dynamic import', "export const load = () => import('../gateway/planted.ts')\n"],
    ['a type that names its file', "export type Alias = import('../gateway/planted.ts').Planted\n"],
  ])('%s counts as an import', (_form, text) => {
    plant('gateway/planted.ts', 'export type Planted = 1\n')
    plant('core/planted.ts', text)
    expect(script('architecture', 'arrows').findings).toEqual(['core/planted.ts:1 imports gateway/planted.ts: core may not import gateway'])
  })

  test('a folder without arrows fails', () => {
    plant('utils/planted.ts', 'export const planted = 1\n')
    expect(script('architecture', 'arrows')).toMatchObject({
      status: 1,
      findings: ['utils/planted.ts: its folder has no arrows: add it to scripts/architecture/arrows.ts'],
    })
  })
})

describe('folders', () => {
  const fill = (files: number) => {
    for (let file = 1; file <= files; file++) plant(`core/file-${file}.ts`, '')
  }

  test('25 files in a folder pass, and files of its subfolders do not count', () => {
    fill(25)
    plant('core/outage/breaker.ts', '')
    expect(script('architecture', 'folders').status).toBe(0)
  })

  test('26 files in a folder fail', () => {
    fill(26)
    expect(script('architecture', 'folders')).toMatchObject({
      status: 1,
      findings: ['core holds 26 files: split it, 25 is the limit'],
    })
  })
})

describe('exports', () => {
  test('a name that two folders export passes', () => {
    plant('core/keys.ts', 'export const planted = 1\n')
    plant('core/outage/keys.ts', 'export const planted = 1\n')
    expect(script('architecture', 'exports').status).toBe(0)
  })

  test.each([
    ['a function and a type', 'export async function planted() {}\n', 'export type planted = 1\n'],
    ['a constant and a list', 'export const planted = 1\n', 'const inner = 1\nexport { inner as planted }\n'],
    ['a class and a re-export', 'export class planted {}\n', "export type { planted } from './one.ts'\n"],
    ['a pattern and an interface', 'export const { of: planted, other } = both\n', 'export interface planted {}\n'],
  ])('%s of one name in a folder fail', (_forms, one, two) => {
    plant('core/one.ts', one)
    plant('core/two.ts', two)
    expect(script('architecture', 'exports')).toMatchObject({
      status: 1,
      findings: ['core exports planted twice: rename it in one of one.ts, two.ts'],
    })
  })
})

describe('exceptions', () => {
  const exception = (reason: string) => `// oxlint-disable-next-line eslint/max-lines-per-function${reason}\nexport function planted() {}\n`

  test('five exceptions with a reason pass', () => {
    for (let file = 1; file <= 5; file++) plant(`core/file-${file}.ts`, exception(' -- one table, read from top to bottom'))
    expect(script('architecture', 'exceptions').status).toBe(0)
  })

  test('a sixth exception fails', () => {
    for (let file = 1; file <= 6; file++) plant(`core/file-${file}.ts`, exception(' -- one table, read from top to bottom'))
    expect(script('architecture', 'exceptions')).toMatchObject({
      status: 1,
      findings: ['core/file-6.ts:1: exception 6 or later: shorten a function instead'],
    })
  })

  test('an exception without a reason fails', () => {
    plant('core/file.ts', exception(''))
    expect(script('architecture', 'exceptions')).toMatchObject({
      status: 1,
      findings: ['core/file.ts:1: the exception from a limit has no reason: add " -- " and the reason'],
    })
  })
})

describe('map', () => {
  const TREE = ['core/outage/breaker.ts', 'schema/history.graphql', '.github/workflows/ci.yml']
  const plantTree = (...rows: string[]) => {
    for (const path of TREE) plant(path, '')
    plant('ARCHITECTURE.md', ['# Map', '', '| folder | what it holds |', '|---|---|', ...rows, '', 'The end.'].join('\n'))
  }

  test('a map with one row per folder passes', () => {
    plantTree('| [core/](core/) | leaves |', '| `core/outage/` | breakers |', '| schema | SDL |')
    expect(script('architecture', 'map')).toEqual({ status: 0, findings: [], printed: [] })
  })

  test('a missing row, a row without a folder and a repeated row fail', () => {
    plantTree('| `core/` | leaves |', '| `core/` | leaves |', '| `schema/` | SDL |', '| `stores/` | drivers |')
    expect(script('architecture', 'map')).toMatchObject({
      status: 1,
      findings: [
        'ARCHITECTURE.md:6: the map has core twice',
        'ARCHITECTURE.md:8: the map has stores, which is no folder of depth 1 or 2',
        'ARCHITECTURE.md: the map lacks core/outage',
      ],
    })
  })

  test('a document without a map fails', () => {
    plant('ARCHITECTURE.md', '# Map\n')
    expect(script('architecture', 'map')).toMatchObject({
      status: 1,
      findings: ['ARCHITECTURE.md has no map: add a table with the headings "folder" and "what it holds"'],
    })
  })
})

describe('readme', () => {
  const plantReadme = (before: number, all: number) =>
    plant('README.md', [...Array(before).fill('text'), '```json', '{}', '```', ...Array(all - before - 3).fill('text'), ''].join('\n'))

  test('120 lines with an answer on the first page pass', () => {
    plantReadme(39, 120)
    expect(script('architecture', 'readme')).toEqual({ status: 0, findings: [], printed: [] })
  })

  test('121 lines, and an answer below the first page, fail', () => {
    plantReadme(40, 121)
    expect(script('architecture', 'readme')).toMatchObject({
      status: 1,
      findings: [
        'README.md has 121 lines: move a part into docs, 120 is the limit',
        'README.md shows no answer (a block of json) in its first 40 lines: move the first call up',
      ],
    })
  })

  test('a repository without a README fails', () => {
    expect(script('architecture', 'readme')).toMatchObject({ status: 1, findings: ['README.md is not there: add it'] })
  })
})

test('a violation fails the run of all rules, and an unknown rule ends with status 2', () => {
  plant('gateway/planted.ts', '')
  plant('core/planted.ts', "import '../gateway/planted.ts'\n")
  expect(script('architecture').status).toBe(1)
  expect(script('architecture', 'arows')).toMatchObject({ status: 2 })
})
