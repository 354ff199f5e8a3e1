/**
 * Prints documents for the native planner (0.0.38). Its parser reads some strings differently from the specification:
 *
 * - In block strings it takes all Unicode white space as indentation, such as an ideographic space (U+3000). If the indentation then ends
 *   within a character, the planner panics and ends the process. JavaScript cannot catch that. Every block string therefore becomes an
 *   ordinary string with the same value.
 * - It reads the escape `\b` as U+0010. It reads `\u0008` correctly.
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
