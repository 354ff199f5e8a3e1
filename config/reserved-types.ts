/** The names that no entity of a business may have: those of the types in the schemas of the subgraphs, and those of GraphQL. */
import { readFileSync } from 'node:fs'

const SCHEMAS = ['history', 'thumbup', 'feed-existence', 'feed'].map((name) =>
  readFileSync(new URL(`../schema/${name}.graphql`, import.meta.url), 'utf8'),
)
const DEFINED = /^(?:type|interface|union|enum|input|scalar) (\w+)/gm

/** `Subject` is written by subgraphs/subjects.ts. */
export const RESERVED_TYPES: ReadonlySet<string> = new Set([
  ...SCHEMAS.flatMap((sdl) => Array.from(sdl.matchAll(DEFINED), ([, name = '']) => name)),
  ...['Subject', 'String', 'Int', 'Float', 'Boolean', 'ID'],
])
