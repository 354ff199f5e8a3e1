/**
 * Lists the changes for clients between two API schemas, and the known operations that use a changed part. graphql-js describes a
 * change only in a sentence, so the place is parsed from the sentence.
 */
import {
  BreakingChangeType,
  DangerousChangeType,
  findBreakingChanges,
  findDangerousChanges,
  isEnumType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
  type GraphQLInterfaceType,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
} from 'graphql'

const SEVERITIES = ['breaking', 'dangerous', 'added'] as const
type Severity = (typeof SEVERITIES)[number]

export type SchemaChange = {
  /** `added` is information only: it breaks no client. */
  readonly severity: Severity
  /** The name in graphql-js, such as FIELD_REMOVED. TYPE_ADDED and FIELD_ADDED are ours. */
  readonly kind: string
  /** A schema coordinate, such as Video.title. */
  readonly place: string
  readonly sentence: string
  /** For a removed part: whether it was deprecated, and the remedy. Otherwise empty. */
  readonly advice: string
  /** The known operations that use the place. */
  readonly usedBy: readonly string[]
}

/** `usages`: the parts of the old schema that each known operation uses. Sorted from breaking to added changes, and by place. */
export function findChanges(
  before: GraphQLSchema,
  after: GraphQLSchema,
  usages: readonly { readonly name: string; readonly used: ReadonlySet<string> }[],
): SchemaChange[] {
  const changeOf =
    (severity: Severity) =>
    ({ type, description }: { type: string; description: string }): SchemaChange => {
      const place = placeOf(type, description)
      return {
        severity,
        kind: type,
        place,
        sentence: description,
        advice: removalAdvice(before, place, type),
        usedBy: usages.filter((each) => each.used.has(place)).map((each) => each.name),
      }
    }
  const changes = [
    ...findBreakingChanges(before, after).map(changeOf('breaking')),
    ...findDangerousChanges(before, after).map(changeOf('dangerous')),
    ...findAdditions(before, after).map(changeOf('added')),
  ]
  const rank = ({ severity }: SchemaChange): number => SEVERITIES.indexOf(severity)
  return changes.sort((a, b) => rank(a) - rank(b) || (a.place < b.place ? -1 : 1))
}

const REMOVED: ReadonlySet<string> = new Set([
  BreakingChangeType.FIELD_REMOVED,
  BreakingChangeType.ARG_REMOVED,
  BreakingChangeType.VALUE_REMOVED_FROM_ENUM,
])

/** Deprecate, never remove: a removal breaks clients in any case. */
function removalAdvice(before: GraphQLSchema, place: string, change: string): string {
  if (!REMOVED.has(change)) return ''
  const [, typeName = '', name = '', argument] = /^(\w+)\.(\w+)(?:\((\w+)\))?$/.exec(place) ?? []
  const type = before.getType(typeName)
  const field = type !== undefined && 'getFields' in type ? type.getFields()[name] : undefined
  const part = isEnumType(type)
    ? type.getValue(name)
    : argument !== undefined && field !== undefined && 'args' in field
      ? field.args.find((each) => each.name === argument)
      : field
  const reason = part?.deprecationReason
  return reason == null ? 'It was not deprecated: keep it, and name its successor in @deprecated.' : `It was deprecated: ${reason}`
}

/** New types, and new fields of known types. Added arguments, input fields and enum values are dangerous changes. */
function findAdditions(before: GraphQLSchema, after: GraphQLSchema): { type: string; description: string }[] {
  return Object.values(after.getTypeMap()).flatMap((type) => {
    if (isIntrospectionType(type) || isSpecifiedScalarType(type)) return []
    const known = before.getType(type.name)
    if (known === undefined) return [{ type: 'TYPE_ADDED', description: `${type.name} was added.` }]
    if (!hasFields(type) || !hasFields(known)) return []
    const fields = known.getFields()
    return Object.keys(type.getFields())
      .filter((name) => fields[name] === undefined)
      .map((name) => ({ type: 'FIELD_ADDED', description: `${type.name}.${name} was added.` }))
  })
}

function hasFields(type: GraphQLNamedType): type is GraphQLObjectType | GraphQLInterfaceType {
  return isObjectType(type) || isInterfaceType(type)
}

/** The changed place, by the words of graphql-js 16 (utilities/findBreakingChanges). */
function placeOf(type: string, description: string): string {
  const words = description.replace(/\.$/, '').split(' ')
  const word = (at: number): string => words.at(at) ?? ''
  switch (type) {
    case BreakingChangeType.REQUIRED_INPUT_FIELD_ADDED:
    case DangerousChangeType.OPTIONAL_INPUT_FIELD_ADDED:
      return word(words.indexOf('type') + 1)
    case BreakingChangeType.TYPE_REMOVED_FROM_UNION:
    case DangerousChangeType.TYPE_ADDED_TO_UNION:
    case DangerousChangeType.VALUE_ADDED_TO_ENUM:
      return word(-1)
    case BreakingChangeType.VALUE_REMOVED_FROM_ENUM:
      return `${word(-1)}.${word(0)}`
    case BreakingChangeType.REQUIRED_ARG_ADDED:
    case DangerousChangeType.OPTIONAL_ARG_ADDED:
      return word(words.indexOf('on') + 1)
    case BreakingChangeType.DIRECTIVE_REMOVED:
      return `@${word(0)}`
    case BreakingChangeType.DIRECTIVE_ARG_REMOVED:
    case BreakingChangeType.DIRECTIVE_REPEATABLE_REMOVED:
    case BreakingChangeType.DIRECTIVE_LOCATION_REMOVED:
      return `@${word(-1)}`
    case BreakingChangeType.REQUIRED_DIRECTIVE_ARG_ADDED:
      return `@${word(words.indexOf('directive') + 1)}`
    // A client that omits the argument gets another default.
    case DangerousChangeType.ARG_DEFAULT_VALUE_CHANGE:
      return word(0)
    case DangerousChangeType.IMPLEMENTED_INTERFACE_ADDED:
      return word(-1)
    default:
      return argumentPlace(words) ?? (description.startsWith('Standard scalar') ? word(2) : word(0))
  }
}

/** "Type.field arg name was removed", "Type.field arg name has changed type from …" */
function argumentPlace(words: readonly string[]): string | undefined {
  const [field = '', arg, name = ''] = words
  return arg === 'arg' ? `${field}(${name})` : undefined
}
