/**
 * What changed for clients between two API schemas, as graphql-js sees it, and which of the known operations use what
 * changed. graphql-js tells a change by a sentence only, so its place is read out of the sentence.
 */
import { BreakingChangeType, DangerousChangeType, findBreakingChanges, findDangerousChanges, type GraphQLSchema } from 'graphql'

export type Change = {
  readonly severity: 'breaking' | 'dangerous'
  /** graphql-js' name of it, such as FIELD_REMOVED. */
  readonly kind: string
  /** A schema coordinate, such as Video.title. */
  readonly place: string
  readonly sentence: string
  /** The known operations that use the place. */
  readonly usedBy: readonly string[]
}

/** `usages`: what each known operation uses of the old schema. Breaking ones first, by place. */
export function findChanges(
  before: GraphQLSchema,
  after: GraphQLSchema,
  usages: readonly { readonly name: string; readonly used: ReadonlySet<string> }[],
): Change[] {
  const changeOf =
    (severity: Change['severity']) =>
    ({ type, description }: { type: string; description: string }): Change => {
      const place = placeOf(type, description)
      return {
        severity,
        kind: type,
        place,
        sentence: description,
        usedBy: usages.filter((each) => each.used.has(place)).map((each) => each.name),
      }
    }
  const changes = [
    ...findBreakingChanges(before, after).map(changeOf('breaking')),
    ...findDangerousChanges(before, after).map(changeOf('dangerous')),
  ]
  return changes.sort((a, b) => (a.severity === b.severity ? (a.place < b.place ? -1 : 1) : a.severity === 'breaking' ? -1 : 1))
}

/** The place whose users are concerned, by the words of graphql-js 16 (utilities/findBreakingChanges). */
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
    // Who does not send the argument gets another default.
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
