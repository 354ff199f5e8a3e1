/** Each hint of the composer: a broken partner gets it, and the same partner composes after the change that the hint names. */
import { expect, test } from 'vitest'
import { makeConfig } from '../../../config/config.ts'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { COMPOSITION_HINTS } from '../../../gateway/supergraph/composition/hints.ts'
import { ourSubgraphs } from '../../../subgraphs/catalog.ts'

/** An entity of ours, which the default configuration has. */
const ENTITY = makeConfig([]).businesses[0]?.entity ?? ''

const link = (version = 'v2.9', imports = '"@key", "@shareable", "@external", "@requires", "@provides", "@override"') =>
  `extend schema @link(url: "https://specs.apollo.dev/federation/${version}", import: [${imports}])`

/** Subgraphs of partners: one, or two that conflict. The second has another query, so that only the named part conflicts. */
type Sdls = readonly [string] | readonly [string, string]
type Case = { broken: Sdls; mended: Sdls; alone?: boolean }

const Q = 'type Query { partner: Int }'
const clip = (fields: string, rest = '') => `${Q} type Clip @key(fields: "id") { id: ID! ${fields} } ${rest}`
const clip2 = (fields: string) => `type Query { partner2: Int } type Clip @key(fields: "id") { id: ID! ${fields} }`
const video = (fields: string) => `${Q} type ${ENTITY} @key(fields: "id") { id: ID! ${fields} }`
const shared = (argument: string, type: string) => `type Query { shared(by: ${argument}): Int @shareable } ${type}`

const CASES: Readonly<Record<string, Case>> = {
  DIRECTIVE_DEFINITION_INVALID: { broken: [`${Q} directive @key(by: String) on OBJECT`], mended: [Q] },
  EMPTY_MERGED_ENUM_TYPE: {
    broken: [shared('Mode', 'enum Mode { A }'), shared('Mode', 'enum Mode { B }')],
    mended: [shared('Mode', 'enum Mode { A }'), shared('Mode', 'enum Mode { A B }')],
  },
  EMPTY_MERGED_INPUT_TYPE: {
    broken: [shared('Filter', 'input Filter { a: Int }'), shared('Filter', 'input Filter { b: Int }')],
    mended: [shared('Filter', 'input Filter { a: Int }'), shared('Filter', 'input Filter { a: Int b: Int }')],
  },
  ENUM_VALUE_MISMATCH: {
    broken: [
      'type Query { mode(of: Mode): Mode @shareable } enum Mode { A B }',
      'type Query { mode(of: Mode): Mode @shareable } enum Mode { A }',
    ],
    mended: [
      'type Query { mode(of: Mode): Mode @shareable } enum Mode { A B }',
      'type Query { mode(of: Mode): Mode @shareable } enum Mode { A B }',
    ],
  },
  EXTENSION_WITH_NO_BASE: { broken: [`${Q} extend type Clips { title: String }`], mended: [`${Q} type Clips { title: String }`] },
  EXTERNAL_MISSING_ON_BASE: {
    broken: [video('titel: String @external upper: String @requires(fields: "titel")'), 'type Query { none: Int }'],
    mended: [video('titel: String upper: String'), 'type Query { none: Int }'],
  },
  EXTERNAL_TYPE_MISMATCH: {
    broken: [clip('length: Int'), clip2('length: [Int] @external half: Int @requires(fields: "length")')],
    mended: [clip('length: Int'), clip2('length: Int @external half: Int @requires(fields: "length")')],
  },
  EXTERNAL_UNUSED: {
    broken: [clip('length: Int'), clip2('length: Int @external half: Int')],
    mended: [clip('length: Int'), clip2('length: Int @external half: Int @requires(fields: "length")')],
  },
  FIELD_ARGUMENT_DEFAULT_MISMATCH: {
    broken: [shared('Int = 1', ''), shared('Int = 2', '')],
    mended: [shared('Int = 1', ''), shared('Int = 1', '')],
  },
  FIELD_ARGUMENT_TYPE_MISMATCH: {
    broken: [shared('Int', ''), shared('String', '')],
    mended: [shared('Int', ''), shared('Int', '')],
  },
  FIELD_TYPE_MISMATCH: {
    broken: [`${Q} type ${ENTITY} @key(fields: "id") { id: String! title: String }`],
    mended: [video('title: String')],
  },
  INPUT_FIELD_DEFAULT_MISMATCH: {
    broken: [shared('Filter', 'input Filter { a: Int = 1 }'), shared('Filter', 'input Filter { a: Int = 2 }')],
    mended: [shared('Filter', 'input Filter { a: Int = 1 }'), shared('Filter', 'input Filter { a: Int = 1 }')],
  },
  INTERFACE_FIELD_NO_IMPLEM: {
    broken: [
      'type Query { assets: Asset } interface Asset { id: ID! rating: Int } type Clip implements Asset { id: ID! rating: Int }',
      'type Query { songs: Asset } interface Asset { id: ID! } type Song implements Asset { id: ID! }',
    ],
    mended: [
      'type Query { assets: Asset } interface Asset { id: ID! rating: Int } type Clip implements Asset { id: ID! rating: Int }',
      'type Query { songs: Asset } interface Asset { id: ID! } type Song implements Asset { id: ID! rating: Int }',
    ],
  },
  INVALID_FIELD_SHARING: {
    broken: [`${Q} type ${ENTITY} { id: ID! title: String }`],
    mended: [video('title: String')],
  },
  INVALID_LINK_DIRECTIVE_USAGE: {
    broken: [`${link('v2.0', '"@authenticated"')} ${Q}`],
    mended: [`${link('v2.5', '"@authenticated"')} ${Q}`],
  },
  KEY_INVALID_FIELDS: {
    broken: [`${Q} type Clip @key(fields: "slug") { id: ID! }`],
    mended: [`${Q} type Clip @key(fields: "slug") { id: ID! slug: ID! }`],
  },
  NO_QUERIES: { broken: ['type Clip @key(fields: "id") { id: ID! }'], mended: [clip('')], alone: true },
  OVERRIDE_FROM_SELF_ERROR: {
    broken: [clip('length: Int @override(from: "partner")')],
    mended: [clip('length: Int @override(from: "history")')],
  },
  PROVIDES_FIELDS_MISSING_EXTERNAL: {
    broken: ['type Query { clip: Clip @provides(fields: "length") } type Clip @key(fields: "id") { id: ID! length: Int }'],
    mended: [
      'type Query { clip: Clip @provides(fields: "length") } type Clip @key(fields: "id") { id: ID! length: Int @external }',
      clip2('length: Int @shareable'),
    ],
  },
  PROVIDES_INVALID_FIELDS: {
    broken: [
      'type Query { clip: Clip @provides(fields: "length") } type Clip @key(fields: "id") { id: ID! }',
      clip2('length: Int @shareable'),
    ],
    mended: [
      'type Query { clip: Clip @provides(fields: "length") } type Clip @key(fields: "id") { id: ID! length: Int @external }',
      clip2('length: Int @shareable'),
    ],
  },
  REQUIRED_ARGUMENT_MISSING_IN_SOME_SUBGRAPH: {
    broken: ['type Query { shared(by: Int!): Int @shareable }', 'type Query { shared: Int @shareable }'],
    mended: ['type Query { shared(by: Int): Int @shareable }', 'type Query { shared: Int @shareable }'],
  },
  REQUIRED_INPUT_FIELD_MISSING_IN_SOME_SUBGRAPH: {
    broken: [shared('Filter', 'input Filter { a: Int b: Int! }'), shared('Filter', 'input Filter { a: Int }')],
    mended: [shared('Filter', 'input Filter { a: Int b: Int }'), shared('Filter', 'input Filter { a: Int }')],
  },
  REQUIRES_FIELDS_MISSING_EXTERNAL: {
    broken: [clip('length: Int @shareable'), clip2('length: Int @shareable half: Int @requires(fields: "length")')],
    mended: [clip('length: Int'), clip2('length: Int @external half: Int @requires(fields: "length")')],
  },
  REQUIRES_INVALID_FIELDS: {
    broken: [clip('length: Int'), clip2('half: Int @requires(fields: "length")')],
    mended: [clip('length: Int'), clip2('length: Int @external half: Int @requires(fields: "length")')],
  },
  SATISFIABILITY_ERROR: {
    broken: [
      'type Query { clip: Clip } type Clip @key(fields: "id") { id: ID! }',
      'type Query { none: Int } type Clip @key(fields: "id", resolvable: false) { id: ID! length: Int }',
    ],
    mended: [
      'type Query { clip: Clip } type Clip @key(fields: "id") { id: ID! }',
      'type Query { none: Int } type Clip @key(fields: "id") { id: ID! length: Int }',
    ],
  },
  UNKNOWN_FEDERATION_LINK_VERSION: { broken: [`${link('v2.10')} ${Q}`], mended: [`${link('v2.9')} ${Q}`] },
}

function compose(sdls: Sdls, alone = false): string {
  const partners = sdls.map((sdl, index) => ({
    name: index === 0 ? 'partner' : 'partner2',
    url: 'http://partner/',
    sdl: sdl.startsWith('extend schema') ? sdl : `${link()} ${sdl}`,
  }))
  return composeSupergraph(alone ? partners : [...ourSubgraphs(makeConfig([])), ...partners])
}

test.each(Object.entries(COMPOSITION_HINTS))('%s is followed by its hint, and the change that it names repairs the graph', (code, hint) => {
  const known = CASES[code]
  if (known === undefined) throw new Error(`no broken partner shows ${code}: add one to CASES`)
  const { broken, mended, alone } = known
  expect(() => compose(broken, alone)).toThrow(`\n  ${code}: ${hint}`)
  expect(compose(mended, alone)).toContain('join__Graph')
})

test('a hint follows the message of the composer, once for all errors of its code', () => {
  const sdl = `${Q} type ${ENTITY} @key(fields: "id") { id: String! } type Comic @key(fields: "id") { id: String! }`
  const lines = messageOf(() => compose([sdl])).split('\n')
  const at = lines.findIndex((line) => line.includes('FIELD_TYPE_MISMATCH'))
  expect(lines[at - 1]).toContain('is incompatible across subgraphs')
  expect(lines.filter((line) => line.includes('is incompatible across subgraphs'))).toHaveLength(2)
  expect(lines.filter((line) => line.includes(COMPOSITION_HINTS['FIELD_TYPE_MISMATCH'] as string))).toHaveLength(1)
})

test('every version of federation that the hint offers composes', () => {
  for (let minor = 0; minor <= 9; minor += 1) expect(compose([`${link(`v2.${minor}`, '"@key"')} ${Q}`])).toContain('join__Graph')
})

function messageOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('it composes')
}
