/**
 * One sentence per common code of the composer, with the change to make in a subgraph. Apollo's composer has the same codes, and explains them at
 * length under "Error reference" in its documentation. Codes with a message that already contains the remedy are left out.
 */
export const COMPOSITION_HINTS: Readonly<Record<string, string>> = {
  DIRECTIVE_DEFINITION_INVALID: 'remove this definition: @link imports the directive with its definition',
  EMPTY_MERGED_ENUM_TYPE: 'give the enum at least one value that all subgraphs have, or rename it in one of them',
  EMPTY_MERGED_INPUT_TYPE: 'give the input at least one field that all subgraphs have, or rename it in one of them',
  ENUM_VALUE_MISMATCH: 'add the value to the enum in all subgraphs, or use another enum for arguments than for results',
  EXTENSION_WITH_NO_BASE: 'correct the name of the type, or define it here without "extend"',
  EXTERNAL_MISSING_ON_BASE:
    'correct the name of the field to that in the subgraph that resolves it, or remove @external and resolve it here',
  EXTERNAL_TYPE_MISMATCH: 'copy the type of the @external field from the subgraph that resolves it',
  EXTERNAL_UNUSED: 'remove the field here, or use it in @requires, @provides or @key',
  FIELD_ARGUMENT_DEFAULT_MISMATCH: 'give the argument the same default in all subgraphs',
  FIELD_ARGUMENT_TYPE_MISMATCH: 'give the argument the same type in all subgraphs, or rename it in one of them',
  FIELD_TYPE_MISMATCH: 'copy the type of the field from the other subgraph, or rename the field here',
  INPUT_FIELD_DEFAULT_MISMATCH: 'give the input field the same default in all subgraphs',
  INTERFACE_FIELD_NO_IMPLEM:
    'add the field to each type that implements the interface, or rename your interface if it only has the same name by accident',
  INVALID_FIELD_SHARING:
    'remove or rename the field in all subgraphs but one, or mark it @shareable in all of them; if it is the key of an entity, add @key to the type',
  INVALID_LINK_DIRECTIVE_USAGE: 'remove the import, or raise the version in the url of @link to one that has the directive',
  KEY_INVALID_FIELDS: 'name only fields in @key that the type has in this subgraph',
  NO_QUERIES: 'add a type Query with at least one field to one of the subgraphs',
  OVERRIDE_FROM_SELF_ERROR: 'name in @override(from:) the subgraph that resolved the field before',
  PROVIDES_FIELDS_MISSING_EXTERNAL: 'mark the field @external in this subgraph, or remove it from @provides',
  PROVIDES_INVALID_FIELDS: 'name only fields in @provides that the type has in this subgraph, with @external if another one resolves them',
  REQUIRED_ARGUMENT_MISSING_IN_SOME_SUBGRAPH: 'add the argument to the field in all subgraphs, or make it nullable',
  REQUIRED_INPUT_FIELD_MISSING_IN_SOME_SUBGRAPH: 'add the input field in all subgraphs, or make it nullable',
  REQUIRES_FIELDS_MISSING_EXTERNAL: 'mark the field @external in this subgraph, or remove it from @requires',
  REQUIRES_INVALID_FIELDS: 'name only fields in @requires that the type has in this subgraph, with @external if another one resolves them',
  SATISFIABILITY_ERROR: 'give the type the same @key in both subgraphs, and leave out resolvable: false in the one that resolves the field',
  UNKNOWN_FEDERATION_LINK_VERSION: 'link to a version from v2.0 to v2.9, such as https://specs.apollo.dev/federation/v2.9',
}

/** The composer's messages, each once. The first message of each code is followed by its hint. */
export function withHints(errors: readonly { readonly message: string; readonly code: string | undefined }[]): string[] {
  const hinted = new Set<string>()
  const messages = new Map(errors.map((error) => [error.message, error]))
  return [...messages.values()].map(({ message, code = '' }) => {
    const hint = COMPOSITION_HINTS[code]
    if (hint === undefined || hinted.has(code)) return message
    hinted.add(code)
    return `${message}\n  ${code}: ${hint}`
  })
}
