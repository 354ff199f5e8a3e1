/**
 * Decides @skip and @include before the operation is planned. An operation is planned and compiled once per combination of its
 * condition variables, when the combination first occurs. In practice there are few combinations.
 *
 * Undecided conditions lead to wrong answers:
 * - Near @requires, the planner may use the client's conditional field in place of the required one. It may also drop a required fetch
 *   together with an excluded one.
 * - If a fragment is spread twice, graphql-jit applies the conditions of only one of the two places.
 */
import { Kind, visit } from 'graphql'
import type { ASTNode, DirectiveNode, OperationDefinitionNode } from 'graphql'
import type { Fragments } from './plan-document.ts'

export type VariableValues = Readonly<Record<string, unknown>>

/** The condition variables. Each has the value that includes more fields. */
export function conditionVariables(operation: OperationDefinitionNode, fragments: Fragments): ReadonlyMap<string, boolean> {
  const values = new Map<string, boolean>()
  for (const node of [operation, ...fragments.values()]) {
    visit(node, {
      Directive(directive) {
        const value = isCondition(directive) ? valueOf(directive) : undefined
        if (value?.kind !== Kind.VARIABLE) return
        const isIncluding = directive.name.value === 'include'
        values.set(value.name.value, isIncluding || (values.get(value.name.value) ?? false))
      },
    })
  }
  return values
}

export type DecidedOperation = { readonly operation: OperationDefinitionNode; readonly fragments: Fragments }

/**
 * The operation without excluded fields and without conditions. A selection set may become empty. @defer is removed as well: a deferred
 * fragment comes with the rest of the answer.
 */
export function decideConditions({ operation, fragments }: DecidedOperation, variables: VariableValues): DecidedOperation {
  const decide = <Node extends ASTNode>(node: Node): Node => decideIn(node, variables)
  return { operation: decide(operation), fragments: new Map([...fragments].map(([name, fragment]) => [name, decide(fragment)])) }
}

function decideIn<Node extends ASTNode>(root: Node, variables: VariableValues): Node {
  const unlessExcluded = (node: { readonly directives?: readonly DirectiveNode[] | undefined }) =>
    isIncluded(node.directives, variables) ? undefined : null
  return visit(root, {
    Field: unlessExcluded,
    InlineFragment: unlessExcluded,
    FragmentSpread: unlessExcluded,
    Directive: (node) => (isCondition(node) || node.name.value === 'defer' ? null : undefined),
  })
}

function isIncluded(directives: readonly DirectiveNode[] | undefined, variables: VariableValues): boolean {
  return (directives ?? []).every((directive) => {
    if (!isCondition(directive)) return true
    const value = valueOf(directive)
    const holds = value?.kind === Kind.VARIABLE ? variables[value.name.value] === true : value?.kind === Kind.BOOLEAN && value.value
    return (directive.name.value === 'include') === holds
  })
}

function isCondition({ name }: DirectiveNode): boolean {
  return name.value === 'skip' || name.value === 'include'
}

function valueOf(directive: DirectiveNode) {
  return directive.arguments?.find(({ name }) => name.value === 'if')?.value
}
