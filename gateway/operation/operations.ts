/**
 * Turns text into a valid operation: parse, pick the operation, judge, validate. Mistakes are returned as errors, each with a code of
 * core/errors.ts. Nothing is thrown.
 */
import { createHash } from 'node:crypto'
import { GraphQLError, Kind, SingleFieldSubscriptionsRule, parse, specifiedRules, validate } from 'graphql'
import type { DocumentNode, GraphQLSchema, OperationDefinitionNode, ValidationRule } from 'graphql'
import type { ErrorCode } from '../../core/errors.ts'
import { withExactLiterals } from '../request/exact-ids.ts'
import { dropTokens } from '../memory/estimates.ts'
import { finiteNumbersRule } from './finite-numbers.ts'
import { withSuccessor } from './old-names.ts'
import type { Fragments } from './plan-document.ts'
import { fragmentsOf } from './plan-document.ts'
import type { Work } from './preparing.ts'

export type Judge = (document: DocumentNode, operationName: string | undefined) => readonly GraphQLError[]

export type ReadOperation = {
  readonly operation: OperationDefinitionNode
  readonly fragments: Fragments
  /** SHA-256 of the text, in hexadecimal: the id of a persisted operation. */
  readonly hash: string
  /** Nodes of the document, as a measure of its size. */
  readonly nodes: number
  /** Characters of the text. */
  readonly length: number
  /** Whether errors may name parts of the schema that the operation does not name. */
  readonly mayHint: boolean
}

export type ReadOptions = {
  /** Tokens an operation may have. */
  readonly tokensMax: number
  /** Judges the document once per operation, before validation and planning. Returned errors refuse the operation. */
  readonly judge?: Judge | undefined
  /** Whether clients may ask for the schema. If false, errors neither suggest names nor name the successors of old names. Default true. */
  readonly introspection?: boolean
}

export function* readOperation(
  schema: GraphQLSchema,
  text: string,
  operationName: string | undefined,
  options: ReadOptions,
): Work<ReadOperation | { readonly errors: readonly GraphQLError[] }> {
  let document: DocumentNode
  try {
    document = parse(text, { maxTokens: options.tokensMax })
  } catch (error) {
    // The parser throws a RangeError, not a GraphQLError, when it runs out of stack.
    if (error instanceof RangeError)
      return { errors: [codedError('OPERATION_TOO_LARGE', 'The document is nested too deeply: use fewer levels.')] }
    if (isTokenLimit(error)) return { errors: [tooManyTokens(error, options.tokensMax)] }
    return { errors: [withCode(error as GraphQLError, 'GRAPHQL_PARSE_FAILED')] }
  }
  const operation = pickOperation(document, operationName)
  if (operation instanceof GraphQLError) return { errors: [operation] }
  // The judge comes first: validation of an operation that is too large takes a good part of its full cost.
  const refusals = options.judge?.(document, operationName) ?? []
  if (refusals.length > 0) return { errors: refusals }
  yield
  const mayHint = options.introspection !== false
  const invalid = mistakesOf(schema, document, mayHint)
  if (invalid.length > 0) return { errors: invalidErrors(invalid, schema, mayHint) }
  // graphql-js coerces into plain objects, which lose a value of this name. The judged operation would differ from the executed one.
  if (operation.variableDefinitions?.some(({ variable }) => variable.name.value === '__proto__') === true)
    return { errors: [codedError('GRAPHQL_VALIDATION_FAILED', 'A variable cannot be named $__proto__: give it another name.')] }
  // No validation rule checks this: graphql-js notices it at execution.
  if (schema.getRootType(operation.operation) == null)
    return {
      errors: [codedError('GRAPHQL_VALIDATION_FAILED', `This graph has no ${operation.operation} type: it serves no such operations.`)],
    }
  const exact = withExactLiterals(schema, document, text)
  if (exact instanceof GraphQLError) return { errors: [exact] }
  const picked = exact === document ? operation : pickOperation(exact, operationName)
  if (picked instanceof GraphQLError) return { errors: [picked] }
  const nodes = dropTokens(exact)
  const hash = createHash('sha256').update(text).digest('hex')
  return { operation: picked, fragments: fragmentsOf(exact), hash, nodes, length: text.length, mayHint }
}

function mistakesOf(schema: GraphQLSchema, document: DocumentNode, mayHint: boolean): readonly GraphQLError[] {
  const rules = mayHint ? OPEN_RULES : CLOSED_RULES
  const validateBy = (some: readonly ValidationRule[]) => validate(schema, document, some, { hideSuggestions: !mayHint })
  try {
    return validateBy(rules)
  } catch (error) {
    // This rule applies @skip and @include at the root of a subscription, and throws because it has no variables.
    if (!(error instanceof GraphQLError)) throw error
    const others = validateBy(rules.filter((rule) => rule !== SingleFieldSubscriptionsRule))
    const { nodes = null } = error
    if (others.length > 0) return others
    return [
      new GraphQLError('The root field of a subscription cannot have @skip or @include with a variable: remove the directive.', { nodes }),
    ]
  }
}

/** `mayHint`: as of `ReadOperation`. */
export function invalidErrors(errors: readonly GraphQLError[], schema: GraphQLSchema, mayHint: boolean): GraphQLError[] {
  return errors.map((error) => withCode(mayHint ? withSuccessor(error, schema) : error, 'GRAPHQL_VALIDATION_FAILED'))
}

const OPEN_RULES: readonly ValidationRule[] = [...specifiedRules, finiteNumbersRule]

const CLOSED_RULES: readonly ValidationRule[] = [
  (context) => ({
    Field(node) {
      if (node.name.value !== '__schema' && node.name.value !== '__type') return
      context.reportError(new GraphQLError(`${node.name.value} is not available: introspection is off on this server`, { nodes: [node] }))
    },
  }),
  ...OPEN_RULES,
]

function pickOperation(document: DocumentNode, operationName: string | undefined): OperationDefinitionNode | GraphQLError {
  const operations = document.definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION)
  const named = operationName === undefined ? operations : operations.filter(({ name }) => name?.value === operationName)
  const [first, second] = named
  if (first !== undefined && (second === undefined || operationName !== undefined)) return first
  return codedError('OPERATION_RESOLUTION_FAILURE', resolutionMistake(operations, operationName))
}

const UNNAMED = '(unnamed)'

function resolutionMistake(operations: readonly OperationDefinitionNode[], operationName: string | undefined): string {
  if (operations.length === 0) return 'The document has no operation: send a query, a mutation or a subscription.'
  const names = operations.map(({ name }) => name?.value ?? UNNAMED).join(', ')
  if (operationName === undefined) return `The document has several operations: set operationName to one of them: ${names}.`
  if (names === UNNAMED) return `The document has no operation named "${operationName}", but one without a name: leave operationName out.`
  return `The document has no operation named "${operationName}": name one of ${names}.`
}

export function codedError(code: ErrorCode, message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code } })
}

/** The error for an exception during compilation. Clients get our message; the log gets the cause, see error-format.ts. */
export function compileError(thrown: unknown): GraphQLError {
  if (thrown instanceof GraphQLError) return thrown.extensions['code'] === undefined ? withCode(thrown, 'INTERNAL') : thrown
  const originalError = thrown instanceof Error ? thrown : new Error(String(thrown))
  return new GraphQLError('The operation is valid, but it cannot be compiled.', {
    extensions: { code: 'INTERNAL' satisfies ErrorCode },
    originalError,
  })
}

/** For operators: they may see the cause. */
export function withCause({ message, originalError }: GraphQLError): string {
  return originalError == null ? message : `${message} (${originalError.message})`
}

export function withCode(error: GraphQLError, code: ErrorCode): GraphQLError {
  const { nodes = null, source = null, positions = null, path = null, originalError = null, extensions } = error
  return new GraphQLError(error.message, { nodes, source, positions, path, originalError, extensions: { ...extensions, code } })
}

/** graphql-js reports only that it stopped. */
function tooManyTokens({ source, positions }: GraphQLError, tokensMax: number): GraphQLError {
  const sentence = `The document has more than ${tokensMax} tokens: send ids, inputs and other values as variables, or split it into several requests.`
  return new GraphQLError(sentence, {
    source: source ?? null,
    positions: positions ?? null,
    extensions: { code: 'OPERATION_TOO_LARGE' satisfies ErrorCode },
  })
}

function isTokenLimit(error: unknown): error is GraphQLError {
  // graphql-js has no code for this error. Its message is "Syntax Error: Document contains more that 5000 tokens. Parsing aborted."
  return error instanceof GraphQLError && error.message.endsWith('tokens. Parsing aborted.')
}
