/**
 * Keys of viewers in a legacy store. A template has the placeholders {viewer}, {business} and {number}. Braces of the keys themselves are
 * written twice, as {{viewer}} or {{feed}}, or stand around a placeholder, as {u:{viewer}}. A leaf.
 */
type KeyPart = 'viewer' | 'business' | 'number'

const KEY_PARTS: readonly string[] = ['viewer', 'business', 'number'] satisfies KeyPart[]
/** Innermost braces: written twice, or once. */
const BRACES = /\{\{([^{}]*)\}\}|\{([^{}]*)\}/g

/** Fills in a template. A replacement function keeps a `$` in an id as it is. */
export function legacyKey(template: string, parts: Readonly<Record<KeyPart, string>>): string {
  const filled = (name: string): string | undefined => (KEY_PARTS.includes(name) ? parts[name as KeyPart] : undefined)
  return template.replace(BRACES, (all, tag: string | undefined, name: string) => {
    return tag === undefined ? (filled(name) ?? all) : `{${filled(tag) ?? tag}}`
  })
}

/** Placeholders with a mistyped name. They would remain in every key. */
export function unknownParts(template: string): string[] {
  return Array.from(template.matchAll(BRACES))
    .filter(([, tag, name = '']) => tag === undefined && !KEY_PARTS.includes(name))
    .map(([text]) => text)
}
