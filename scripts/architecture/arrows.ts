/**
 * Allowed arrows between rooms. A room is a folder or a group of folders with one role: the model of a capability, the
 * drivers, the adapters. An import from one room to another needs an arrow here, also if it imports only a type.
 *
 * Three rules hold beside the arrows: a capability imports no other capability, code for one driver imports no other
 * driver, and a file of a folder without a room is a finding.
 */
import type { Repository } from '../repository.ts'
import { importsOf, isModule } from './modules.ts'

type Place = {
  room: Room
  /** history, thumbup, feed-existence or feed. */
  capability?: string | undefined
  /** lmdb, redis, mysql or kafka. */
  driver?: string | undefined
}

const LEAVES = ['schema', 'core', 'core/outage', 'config'] as const
const PRODUCT = [
  ...LEAVES,
  'cache',
  'writeback',
  'writeback/stores/D',
  'stores/D',
  'subgraphs/X/{model,filter,archive,packed}',
  'subgraphs/X/stores',
  'subgraphs/X/stores/D',
  'subgraphs/X',
  'subgraphs',
  'loaders',
  'gateway',
  'conformance',
  'cli',
] as const

/** Each room with the rooms that it may import. Every room may import itself. */
const ARROWS = {
  schema: [],
  core: ['schema'],
  'core/outage': ['schema', 'core'],
  config: ['schema', 'core', 'core/outage'],
  'stores/D': LEAVES,
  cache: LEAVES,
  writeback: LEAVES,
  'writeback/stores/D': [...LEAVES, 'writeback', 'stores/D'],
  'subgraphs/X/{model,filter,archive,packed}': LEAVES,
  'subgraphs/X/stores': [...LEAVES, 'writeback', 'subgraphs/X/{model,filter,archive,packed}'],
  'subgraphs/X/stores/D': [
    ...LEAVES,
    'writeback',
    'writeback/stores/D',
    'stores/D',
    'subgraphs/X/{model,filter,archive,packed}',
    'subgraphs/X/stores',
  ],
  loaders: [...LEAVES, 'subgraphs/X/{model,filter,archive,packed}', 'subgraphs/X/stores'],
  'subgraphs/X': [
    ...LEAVES,
    'cache',
    'loaders',
    'writeback',
    'stores/D',
    'subgraphs',
    'subgraphs/X/{model,filter,archive,packed}',
    'subgraphs/X/stores',
  ],
  subgraphs: [...LEAVES, 'subgraphs/X'],
  gateway: ['core', 'config'],
  conformance: ['core'],
  /** The types of the console's answers stand beside the page that reads them. */
  cli: [...PRODUCT, 'pages'],
  ops: [],
  scripts: [...PRODUCT, 'harness', 'ops'],
  harness: [...PRODUCT, 'scripts', 'ops'],
  test: [...PRODUCT, 'scripts', 'harness', 'examples', 'ops'],
  bench: [...PRODUCT, 'scripts', 'harness'],
  /** The site anchors headings by the function that checks links, or a link could pass the check and lead nowhere. */
  docs: ['scripts'],
  pages: ['examples'],
  examples: [],
  root: [],
} satisfies Record<string, readonly string[]>

type Room = keyof typeof ARROWS

/** One sentence per import without an arrow. */
export function forbiddenImports({ files, read }: Repository): string[] {
  return [...files].filter(isModule).flatMap((path) => {
    const from = placeOf(path)
    if (from === undefined) return [`${path}: its folder has no arrows: add it to scripts/architecture/arrows.ts`]
    return importsOf(path, read(path)).flatMap(({ target, line }) => {
      const reason = reasonAgainst(from, placeOf(target))
      return reason === undefined ? [] : [`${path}:${line} imports ${target}: ${reason}`]
    })
  })
}

function reasonAgainst(from: Place, to: Place | undefined): string | undefined {
  if (to === undefined) return 'the folder of that file has no arrows'
  if (differ(from.capability, to.capability)) return 'no capability imports another'
  if (differ(from.driver, to.driver)) return `code for ${from.driver} imports no code for ${to.driver}`
  const allowed: readonly string[] = ARROWS[from.room]
  if (from.room === to.room || allowed.includes(to.room)) return undefined
  return `${from.room} may not import ${to.room}`
}

function differ(one: string | undefined, other: string | undefined): boolean {
  return one !== undefined && other !== undefined && one !== other
}

function placeOf(path: string): Place | undefined {
  const [top = '', second, third, driver] = path.split('/').slice(0, -1)
  switch (top) {
    case '':
      return { room: 'root' }
    case 'core':
      return { room: second === 'outage' ? 'core/outage' : 'core' }
    case 'stores':
      return { room: 'stores/D', driver: second }
    case 'writeback':
      return second === 'stores' ? { room: 'writeback/stores/D', driver: third } : { room: 'writeback' }
    case 'subgraphs':
      return second === undefined ? { room: 'subgraphs' } : { ...inCapability(third, driver), capability: second }
    default:
      return Object.hasOwn(ARROWS, top) ? { room: top as Room } : undefined
  }
}

function inCapability(folder: string | undefined, driver: string | undefined): Place {
  if (folder === 'stores') return driver === undefined ? { room: 'subgraphs/X/stores' } : { room: 'subgraphs/X/stores/D', driver }
  if (folder === 'model' || folder === 'filter' || folder === 'archive' || folder === 'packed')
    return { room: 'subgraphs/X/{model,filter,archive,packed}' }
  return { room: 'subgraphs/X' }
}
