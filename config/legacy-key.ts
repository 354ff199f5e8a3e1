/**
 * Keys of viewers in a legacy store, by their template: {viewer}, {business} and {number} are filled in. Braces of the keys
 * themselves are written twice, as {{viewer}} or {{feed}}, or stand around others, as {u:{viewer}}. A leaf.
 */
type KeyPart = 'viewer' | 'business' | 'number'

const KEY_PARTS: readonly string[] = ['viewer', 'business', 'number'] satisfies KeyPart[]
/** Innermost braces: written twice, or once. */
const BRACES = /\{\{([^{}]*)\}\}|\{([^{}]*)\}/g

/** A key by its template. By a replacement function, so that a `$` in an id is one. */
export function legacyKey(template: string, parts: Readonly<Record<KeyPart, string>>): string {
  const filled = (name: string): string | undefined => (KEY_PARTS.includes(name) ? parts[name as KeyPart] : undefined)
  return template.replace(BRACES, (all, tag: string | undefined, name: string) => {
    return tag === undefined ? (filled(name) ?? all) : `{${filled(tag) ?? tag}}`
  })
}

/** A placeholder that would remain in every key: a mistyped name. */
export function unknownParts(template: string): string[] {
  return Array.from(template.matchAll(BRACES))
    .filter(([, tag, name = '']) => tag === undefined && !KEY_PARTS.includes(name))
    .map(([text]) => text)
}
