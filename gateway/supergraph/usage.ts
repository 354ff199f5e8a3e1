/**
 * The parts of a schema that an operation uses, as schema coordinates: `Type`, `Type.field`, `Type.field(argument)`, `Enum.VALUE`,
 * `Input.field`. All fields of a variable's input type count as used, because only the client knows the values that it sends.
 */
import {
  TypeInfo,
  getNamedType,
  isEnumType,
  isInputObjectType,
  typeFromAST,
  visit,
  visitWithTypeInfo,
  type DocumentNode,
  type GraphQLInputType,
  type GraphQLOutputType,
  type GraphQLSchema,
} from 'graphql'

export function usedCoordinates(schema: GraphQLSchema, document: DocumentNode): ReadonlySet<string> {
  const used = new Set<string>()
  const info = new TypeInfo(schema)
  visit(
    document,
    visitWithTypeInfo(info, {
      Field() {
        const parent = info.getParentType()?.name
        const field = info.getFieldDef()
        if (parent === undefined || field === null || field === undefined) return
        used.add(parent)
        used.add(`${parent}.${field.name}`)
        useOutput(field.type, used)
      },
      Argument(node) {
        const directive = info.getDirective()
        const field = info.getFieldDef()
        if (directive !== null && directive !== undefined) used.add(`@${directive.name}`)
        else if (field !== null && field !== undefined) used.add(`${info.getParentType()?.name}.${field.name}(${node.name.value})`)
        const type = getNamedType(info.getInputType() ?? undefined)
        if (type !== undefined) used.add(type.name)
      },
      EnumValue(node) {
        const type = getNamedType(info.getInputType() ?? undefined)
        if (type !== undefined) used.add(`${type.name}.${node.value}`)
      },
      ObjectField(node) {
        const parent = getNamedType(info.getParentInputType() ?? undefined)
        if (parent !== undefined) used.add(`${parent.name}.${node.name.value}`)
        const type = getNamedType(info.getInputType() ?? undefined)
        if (type !== undefined) used.add(type.name)
      },
      InlineFragment(node) {
        if (node.typeCondition !== undefined) used.add(node.typeCondition.name.value)
      },
      FragmentDefinition(node) {
        used.add(node.typeCondition.name.value)
      },
      VariableDefinition(node) {
        useInput(typeFromAST(schema, node.type) as GraphQLInputType | undefined, used)
      },
    }),
  )
  return used
}

/** An answer may have any value of an enum. */
function useOutput(type: GraphQLOutputType, used: Set<string>): void {
  const named = getNamedType(type)
  used.add(named.name)
  if (isEnumType(named)) for (const { name } of named.getValues()) used.add(`${named.name}.${name}`)
}

function useInput(type: GraphQLInputType | null | undefined, used: Set<string>, seen: Set<string> = new Set()): void {
  const named = type === null || type === undefined ? undefined : getNamedType(type)
  // All fields of a recursive input type were added at its first visit.
  if (named === undefined || seen.has(named.name)) return
  seen.add(named.name)
  used.add(named.name)
  if (isEnumType(named)) for (const { name } of named.getValues()) used.add(`${named.name}.${name}`)
  if (!isInputObjectType(named)) return
  for (const field of Object.values(named.getFields())) {
    used.add(`${named.name}.${field.name}`)
    useInput(field.type, used, seen)
  }
}
