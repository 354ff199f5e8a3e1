/**
 * Prints documents for the native planner (0.0.38). Its parser reads some strings differently from the specification:
 *
 * - In block strings it takes all Unicode white space as indentation, such as an ideographic space (U+3000). If the indentation then ends
 *   within a character, the planner panics and ends the process. JavaScript cannot catch that. Every block string therefore becomes an
 *   ordinary string with the same value.
 * - It reads the escape `\b` as U+0010. It reads `\u0008` correctly.
 *
 * The planner also prints a schema with other strings than it read: U+1F600 becomes `\u128512`, and blank lines at the ends are lost. The
 * supergraph's descriptions and default values are therefore encoded in ASCII before the planner reads them, and decoded afterwards. In
 * the fetches of a plan, the planner prints strings correctly.
 */
import { print, visit } from 'graphql'
import type { DocumentNode, StringValueNode } from 'graphql'

export function plannerText(document: DocumentNode): string {
  const text = print(document)
  const ordinary = text.includes('"""') ? print(visit(document, { StringValue: ordinaryString })) : text
  // Outside block strings, a backslash begins an escape. The first character after it may be a backslash too, as in "\\b".
  return ordinary.includes('\\b') ? ordinary.replaceAll(/\\./g, (escape) => (escape === '\\b' ? '\\u0008' : escape)) : ordinary
}

function ordinaryString(node: StringValueNode): StringValueNode | undefined {
  return node.block === true ? { ...node, block: false } : undefined
}

/** Percent-encodes the percent sign, and every character that is not printable ASCII. */
export function encodeTexts(supergraph: DocumentNode): DocumentNode {
  return changeTexts(supergraph, (text) => text.replaceAll(/[^ -$&-~]/gu, encodeURIComponent))
}

/** Decoding also leaves the planner's own descriptions unchanged, because they have no percent sign. */
export function decodeTexts(schema: DocumentNode): DocumentNode {
  return changeTexts(schema, decodeURIComponent)
}

/**
 * Only the directive @deprecated has a text for clients. The planner uses the strings of other directives, such as field sets, so they stay
 * unchanged. Block strings become ordinary ones here, so that `plannerText` prints a supergraph once.
 */
function changeTexts(document: DocumentNode, change: (text: string) => string): DocumentNode {
  return visit(document, {
    Directive: ({ name }) => (name.value === 'deprecated' ? undefined : false),
    StringValue: (node) => ({ ...node, value: change(node.value), block: false }),
  })
}
