/**
 * A validation rule: a number in the text must fit a double. graphql-js reads `1e999` as Infinity, which JSON cannot carry, and the planner
 * cannot read it. The other types need no check: graphql-js limits an Int to 32 bits, takes an ID as its digits, and reports a number for
 * any other type.
 */
import { GraphQLError, getNamedType, isScalarType, isSpecifiedScalarType } from 'graphql'
import type { ASTVisitor, FloatValueNode, IntValueNode, ValidationContext } from 'graphql'

const SHOWN_MAX = 40

export function finiteNumbersRule(context: ValidationContext): ASTVisitor {
  function check(node: FloatValueNode | IntValueNode): void {
    if (Number.isFinite(Number(node.value))) return
    // Within a literal of a custom scalar there is no type.
    const type = getNamedType(context.getInputType())
    if (type !== undefined && type.name !== 'Float' && (!isScalarType(type) || isSpecifiedScalarType(type))) return
    const shown = node.value.length > SHOWN_MAX ? `${node.value.slice(0, SHOWN_MAX)}…` : node.value
    const sentence = `The number ${shown} is out of range: send a number between -1.7976931348623157e308 and 1.7976931348623157e308.`
    context.reportError(new GraphQLError(sentence, { nodes: [node] }))
  }
  return { FloatValue: check, IntValue: check }
}
