/**
 * What of a schema an operation uses, as schema coordinates: `Type`, `Type.field`, `Type.field(argument)`, `Enum.VALUE`,
 * `Input.field`. Whatever a variable of an input type could hold counts as used: nobody but the client knows what it sends.
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

/** Any value of an enum may come in an answer. */
function useOutput(type: GraphQLOutputType, used: Set<string>): void {
  const named = getNamedType(type)
  used.add(named.name)
  if (isEnumType(named)) for (const { name } of named.getValues()) used.add(`${named.name}.${name}`)
}

function useInput(type: GraphQLInputType | null | undefined, used: Set<string>, seen: Set<string> = new Set()): void {
  const named = type === null || type === undefined ? undefined : getNamedType(type)
  // An input type that leads back to itself was seen with all its fields.
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
