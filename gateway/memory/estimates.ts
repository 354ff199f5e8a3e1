/**
 * Estimates the memory of kept values by counting. The factors are measured: test/gateway/memory/estimates.long.test.ts compares them with the
 * heap after a collection, including the code of compiled functions.
 */
import { Kind } from 'graphql'
import type { ASTNode, DocumentNode } from 'graphql'

/** A prepared operation without its text and its document: cost, coercion, metrics. */
const OPERATION_BYTES = 3_000
export const ERROR_BYTES = 1_000
/** A form of an operation for a set of grants, without its variants. */
export const FORM_BYTES = 3_000
const NODE_BYTES = 130
const VARIANT_BYTES = 4_000
const FETCH_BYTES = 4_500
const SHAPE_BYTES = 110
/** The code that reads a field. */
const SCANNER_BYTES = 510
const CHARACTER_BYTES = 2

export function operationBytes(text: string, nodes: number): number {
  return OPERATION_BYTES + text.length * CHARACTER_BYTES + nodes * NODE_BYTES
}

/** `scannedNodes`: those of `nodes` that have a scanner; see transports/answer-scanner.ts. */
export type PlanSize = { readonly fetches: number; readonly characters: number; readonly nodes: number; readonly scannedNodes: number }

/** `nodes`: the nodes of the operation without excluded selections. They become a shape and a projection. */
export function variantBytes(nodes: number, plan: PlanSize): number {
  const ofPlan =
    plan.fetches * FETCH_BYTES + plan.characters * CHARACTER_BYTES + plan.nodes * NODE_BYTES + plan.scannedNodes * SCANNER_BYTES
  return VARIANT_BYTES + nodes * SHAPE_BYTES + ofPlan
}

/** A fetch compiled by graphql-jit and in use: the source, its code, V8's feedback, and closures for each field. */
export function jitBytes(nodes: number): number {
  return 8_000 + nodes * 1_140
}

/** A fetch of entities compiled by transports/entity-calls.ts and in use. */
export function entityCallsBytes(nodes: number): number {
  return nodes * 800
}

/** A list of a root field, compiled by transports/root-list.ts and in use. `nodes`: of its lists of all types. */
export function rootListBytes(nodes: number): number {
  return 20_000 + nodes * 600
}

/** A tree of plain objects with this many characters of JSON. */
export function treeBytes(characters: number): number {
  return characters * 8
}

/** Milliseconds to compile an operation of this size: about 50 per megabyte, and at least one. */
export function compileCostMs(bytes: number): number {
  return 1 + bytes * 5e-5
}

/** V8 takes at most two bytes per character of a string. */
export function textBytes(text: string): number {
  return text.length * CHARACTER_BYTES
}

/** The number of nodes of a document. */
export function countNodes(document: ASTNode): number {
  let nodes = 0
  eachNode(document, false, () => (nodes += 1))
  return nodes
}

/**
 * Removes the tokens from a validated document: they are two thirds of it, and each links to all others. Variables keep their source
 * locations, which errors name. Returns the number of nodes.
 */
export function dropTokens(document: DocumentNode): number {
  let nodes = 0
  eachNode(document, false, (node, ofVariable) => {
    nodes += 1
    const { loc } = node
    const place = loc !== undefined && ofVariable ? { start: loc.start, end: loc.end, source: loc.source } : undefined
    ;(node as { loc?: unknown }).loc = place
  })
  return nodes
}

function eachNode(node: ASTNode, ofVariable: boolean, take: (node: ASTNode, ofVariable: boolean) => void): void {
  const isOfVariable = ofVariable || node.kind === Kind.VARIABLE_DEFINITION
  for (const value of Object.values(node) as unknown[]) {
    if (Array.isArray(value)) {
      for (const each of value) if (isNode(each)) eachNode(each, isOfVariable, take)
    } else if (isNode(value)) eachNode(value, isOfVariable, take)
  }
  take(node, isOfVariable)
}

function isNode(value: unknown): value is ASTNode {
  // A location has no kind; the tokens that it leads to are not nodes.
  return typeof value === 'object' && value !== null && 'kind' in value && typeof value.kind === 'string'
}
