/**
 * The imports and exported names of a module, read from its text. The formatter puts every import and export statement at the
 * start of a line, so that patterns find them and a parser is not needed.
 */
import { posix } from 'node:path'

export type Import = {
  /** The imported file, from the root. */
  target: string
  line: number
}

const MODULE = /\.(?:ts|mts|js|mjs)$/
/** protobufjs writes a module and its declarations, with the same names. */
const GENERATED = /^schema\/records\./

const STATIC = /^(?:import|export)\s(?:[\w$*{},\s]+\sfrom\s)?\s*['"](\.[^'"\n]*)['"]/gm
/** `import('./x.ts')` as an expression or as a type. */
const DYNAMIC = /\bimport\(\s*['"](\.[^'"\n]*)['"]/g

const DECLARATION = /^export (?:declare |abstract |async )*(?:function\*?|const|let|class|type|interface|enum) (\w+|\{[^}]*\}|\[[^\]]*\])/gm
const LIST = /^export (?:type )?\{([^}]*)\}/gm

export function isModule(path: string): boolean {
  return MODULE.test(path) && !GENERATED.test(path)
}

/** Type imports and re-exports count. Imports of packages do not. */
export function importsOf(path: string, text: string): Import[] {
  return [STATIC, DYNAMIC].flatMap((form) =>
    [...text.matchAll(form)].map((match) => ({
      target: posix.join(posix.dirname(path), match[1] as string),
      line: lineAt(text, match.index),
    })),
  )
}

/** Declared names and re-exported ones. The default export has no name. */
export function exportedNames(text: string): string[] {
  const declared = [...text.matchAll(DECLARATION)].flatMap(([statement, name = '']) =>
    /^\w/.test(name) ? [name] : /\btype \{/.test(statement) ? [] : bindings(name),
  )
  const listed = [...text.matchAll(LIST)].flatMap(([, names = '']) => bindings(names))
  return [...new Set([...declared, ...listed])].filter((name) => name !== 'default')
}

/** `{ a, b as c, d: e, type F }` gives a, c, e and F. */
function bindings(list: string): string[] {
  return list
    .replaceAll(/[{}[\]]/g, '')
    .split(',')
    .map((binding) => /(\w+)\s*$/.exec(binding.replace(/=.*/, ''))?.[1])
    .filter((name) => name !== undefined)
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length
}
