/** docs/reference/configuration.md: every setting of the configuration schema, with its variable and its flag. */
import type { ZodTypeAny } from 'zod'
import { stringify } from 'yaml'
import { isLive } from '../../config/live/live-settings.ts'
import { anchorOf } from '../document-links.ts'
import { cell, code, codes, page, prose, refuseUnused, sentence, table, type Page } from './page.ts'
import { readSettings, type Section, type Setting } from './settings.ts'

/** How else a setting can be given: the path of the setting → variables and flags. */
export type OtherWays = ReadonlyMap<string, readonly string[]>

const FILE = 'scripts/reference/configuration.ts'

type Introduction = { title: string; text: string }

/** The top-level sections in the order of the page. */
const SECTIONS: Readonly<Record<string, Introduction>> = {
  server: {
    title: 'Server',
    text: 'The process: its address, the limits of one request, its memory and its shutdown. See [Deploy](../operating/deploy.md) and [Limits](../gateway/limits.md).',
  },
  auth: {
    title: 'Authentication',
    text: 'The keys that verify tokens of clients, and the keys between a gateway and remote subgraphs. See [Identity](../gateway/identity.md).',
  },
  stores: {
    title: 'Stores',
    text: 'The embedded shape needs `data` alone. The distributed shape needs `redis`, `kafka` and `mysql` together. See [Servers](../operating/servers.md) and [Deploy](../operating/deploy.md).',
  },
  businesses: {
    title: 'Businesses',
    text: 'A list with one entry per tenant. See [Tenants](../operating/tenants.md).',
  },
  history: {
    title: 'History',
    text: 'The hot timeline, the retention and the write-back of progress. See [the API of history](../api/history.md) and [Concepts](../concepts.md).',
  },
  thumbup: {
    title: 'Likes',
    text: 'The write-back of marks and counts, for all businesses. See [the API of likes](../api/likes.md).',
  },
  existence: {
    title: 'Feed existence',
    text: 'The subjects that a feed hides, and the time for which they are hidden. See [the API of feed existence](../api/feed-existence.md).',
  },
  feed: {
    title: 'Feed',
    text: 'Posts, follows and home feeds: how long changes stay in the hot store, and their way to the record store.',
  },
  rewards: {
    title: 'Rewards of a day',
    text: 'The rewards for the first events of a day, and the calendar of the day. See [Rewards of a day](../operating/rewards.md).',
  },
  cache: {
    title: 'Cache',
    text: 'The tiered cache of values that many readers share, and its layout of Memcached pools.',
  },
  privacy: {
    title: 'Privacy',
    text: 'The keys of reports of erasures. See [Data of a viewer](../operating/privacy.md#the-report).',
  },
  limits: { title: 'Rate limits', text: 'See [Limits](../gateway/limits.md).' },
  live: {
    title: 'Live settings',
    text: 'The source of settings that change while processes run. See [Live configuration](../operating/live-configuration.md).',
  },
  persisted: {
    title: 'Persisted operations',
    text: 'The operations that clients may run. See [Persisted operations](../gateway/persisted-operations.md).',
  },
  remote: { title: 'Remote subgraphs', text: 'See [Remote subgraphs](../gateway/remote-subgraphs.md).' },
  supergraph: { title: 'Supergraph', text: 'The checks for changes of the supergraph. See [Partners](../gateway/partners.md).' },
}

const INTRODUCTION = [
  'This page lists every setting of `tidemark.yaml`. [Configuration](../operating/configuration.md) explains where settings come from and which source wins.',
  'Numbers are whole unless the page says *decimal*. A setting with the default – is off, or its meaning names the default. A key or a password may be `{file: path}`, with the path of a file that contains it. An unknown setting stops the start.',
  'A setting that is marked *live* [changes while processes run](../operating/live-configuration.md). A change of any other setting needs a restart.',
]

/** Defaults beyond this length stand below their table. */
const DEFAULT_MAX = 60

export function configurationPage(schema: ZodTypeAny, otherWays: OtherWays): Page {
  const sections = readSettings(schema)
  const unknown = sections.find(({ path }) => SECTIONS[path] === undefined)
  if (unknown !== undefined) {
    throw new Error(`the section "${unknown.path}" has no introduction: add one in ${FILE}`)
  }
  const order = Object.keys(SECTIONS)
  refuseUnused(
    'section',
    order,
    sections.map(({ path }) => path),
    FILE,
  )
  const sorted = sections.toSorted((one, other) => order.indexOf(one.path) - order.indexOf(other.path))
  const first = firstPlaces(sorted)
  return page('docs/reference/configuration.md', 2, 'Configuration reference', [
    ...INTRODUCTION,
    ...sorted.flatMap((section) => {
      const { title, text } = SECTIONS[section.path] as Introduction
      return [
        `## ${title}`,
        text,
        section.text === undefined ? '' : prose(sentence(section.text)),
        ...sectionBlocks(section, first, otherWays),
      ]
    }),
  ])
}

/** Sections share parts, such as tls. A part is listed at its first place, and the others refer to it. */
function firstPlaces(sections: readonly Section[]): ReadonlyMap<ZodTypeAny, Section> {
  const first = new Map<ZodTypeAny, Section>()
  const visit = (section: Section): void => {
    for (const { schema, part } of section.settings) {
      if (!first.has(schema)) first.set(schema, section)
      if (part !== undefined) visit(part)
    }
  }
  sections.forEach(visit)
  return first
}

function sectionBlocks(section: Section, first: ReadonlyMap<ZodTypeAny, Section>, otherWays: OtherWays): string[] {
  const long = section.settings.filter((setting) => shownDefault(setting).length > DEFAULT_MAX)
  const parts = section.settings.flatMap(({ part }) => (part === undefined || sharedWith(part, first) !== undefined ? [] : [part]))
  return [
    table(
      ['setting', 'default', 'meaning, values, variable and flag'],
      section.settings.map((setting) => settingRow(setting, first, otherWays)),
    ),
    section.listDefault === undefined ? '' : `Default:\n\n\`\`\`yaml\n${stringify({ [section.path]: section.listDefault }).trim()}\n\`\`\``,
    ...long.map((setting) => `Default of ${code(setting.path)}: ${shownDefault(setting)}.`),
    ...parts.flatMap((part) => [`### ${code(part.path)}`, ...sectionBlocks(part, first, otherWays)]),
  ]
}

function settingRow(setting: Setting, first: ReadonlyMap<ZodTypeAny, Section>, otherWays: OtherWays): string[] {
  const shown = shownDefault(setting)
  const values = [...(setting.part === undefined ? [] : [partLink(setting.part, first)]), ...(setting.value === '' ? [] : [setting.value])]
  return [
    code(setting.path),
    shown.length > DEFAULT_MAX ? 'below' : shown,
    cell([
      prose(sentence(setting.meaning)),
      values.join(' or '),
      codes(otherWays.get(setting.path) ?? []),
      isMarkedLive(setting) ? '*live*' : '',
    ]),
  ]
}

/** Set by the first version with the business, and never changed. */
const IDENTITY: ReadonlySet<string> = new Set(['number', 'name', 'entity'].map((key) => `businesses.${key}`))

function isMarkedLive({ path, part }: Setting): boolean {
  const plain = path.replaceAll('[]', '')
  return part === undefined && isLive(plain) && !IDENTITY.has(plain)
}

function partLink(part: Section, first: ReadonlyMap<ZodTypeAny, Section>): string {
  const shared = sharedWith(part, first)
  const listed = shared ?? part
  const without = listed.settings.filter(({ schema }) => !part.settings.some((setting) => setting.schema === schema))
  const link = `[${shared === undefined ? 'settings' : `as ${code(shared.path)}`}](#${anchorOf(code(listed.path))})`
  return without.length === 0 ? link : `${link} without ${codes(without.map(({ path }) => path.split('.').at(-1) as string))}`
}

/** The section that lists all settings of this part; undefined if that is the part itself. */
function sharedWith(part: Section, first: ReadonlyMap<ZodTypeAny, Section>): Section | undefined {
  const places = new Set(part.settings.map(({ schema }) => first.get(schema)))
  const [place] = places
  return places.size === 1 && place !== part ? place : undefined
}

function shownDefault({ key, fallback, isRequired }: Setting): string {
  if (isRequired) return 'required'
  if (fallback === undefined) return '–'
  if (Array.isArray(fallback)) return fallback.length === 0 ? 'none' : codes(fallback.map(String))
  if (typeof fallback === 'object' && fallback !== null && Object.keys(fallback).length === 0) return 'none'
  const readable = typeof fallback === 'number' ? readableAmount(key, fallback) : undefined
  return `${code(typeof fallback === 'string' ? fallback : JSON.stringify(fallback))}${readable === undefined ? '' : ` (${readable})`}`
}

const DURATIONS = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
] as const

/** A large number of milliseconds or bytes in a larger unit. */
function readableAmount(key: string, amount: number): string | undefined {
  if (/Ms(Max|Min)?$/.test(key)) {
    const [size, name] = DURATIONS.find(([unit]) => amount >= unit && amount % unit === 0) ?? []
    if (size !== undefined) return `${amount / size} ${name}${amount === size ? '' : 's'}`
  }
  if (/Bytes(Max|Min)?$/.test(key) && amount >= 1_048_576 && amount % 1_048_576 === 0) return `${amount / 1_048_576} MiB`
  return undefined
}
