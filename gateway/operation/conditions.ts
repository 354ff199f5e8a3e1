/**
 * @skip and @include are decided before anything is planned: an operation is planned and compiled once per combination of
 * the variables that its conditions name, when the combination first occurs. There are few in practice, and the cost of
 * the alternative is wrong answers. Where conditions meet @requires, the planner lets the conditional field of a client
 * stand in for the one required, or leaves out a fetch together with one that is excluded; graphql-jit takes the
 * conditions of a fragment that is spread twice from one of the two places.
 */
import { Kind, visit } from 'graphql'
import type { ASTNode, DirectiveNode, OperationDefinitionNode } from 'graphql'
import type { Fragments } from './plan-document.ts'

export type Values = Readonly<Record<string, unknown>>

/** The variables that conditions name, each with the value that lets more in. */
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

export type Decided = { readonly operation: OperationDefinitionNode; readonly fragments: Fragments }

/**
 * The operation without what conditions exclude, and without conditions; a selection set may be left empty. @defer goes as
 * well: such a fragment comes with the rest.
 */
export function decideConditions({ operation, fragments }: Decided, variables: Values): Decided {
  const decide = <Node extends ASTNode>(node: Node): Node => decideIn(node, variables)
  return { operation: decide(operation), fragments: new Map([...fragments].map(([name, fragment]) => [name, decide(fragment)])) }
}

function decideIn<Node extends ASTNode>(root: Node, variables: Values): Node {
  const unlessExcluded = (node: { readonly directives?: readonly DirectiveNode[] | undefined }) =>
    isIncluded(node.directives, variables) ? undefined : null
  return visit(root, {
    Field: unlessExcluded,
    InlineFragment: unlessExcluded,
    FragmentSpread: unlessExcluded,
    Directive: (node) => (isCondition(node) || node.name.value === 'defer' ? null : undefined),
  })
}

function isIncluded(directives: readonly DirectiveNode[] | undefined, variables: Values): boolean {
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
