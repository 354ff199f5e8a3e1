/**
 * One operation, a form for each set of grants. The form for those who may see everything is the operation itself; the
 * others are compiled when somebody first needs them. Who asks is `context.viewer`.
 */
import type { ExecutionResult } from 'graphql'
import { GraphQLError } from 'graphql'
import type { Viewer } from '../../core/viewer.ts'
import { makeLru } from '../lru.ts'
import type { ReadOperation } from '../operations.ts'
import { codedError, withCode } from '../operations.ts'
import type { PreparedOperation, RequestContext } from '../prepared.ts'
import { clientError } from '../subgraph-errors.ts'
import { conditionsOf, denialsOf, deniedRoot, deniedTo, type Guards } from './guarded.ts'
import { isGranted } from './rules.ts'

/** Forms of one operation that are kept besides the whole one. Callers' scopes are few; an issuer may surprise. */
const FORMS_MAX = 16

/** `compile` makes the form for a viewer with these grants. */
export function authorize(
  whole: PreparedOperation,
  { operation, fragments }: ReadOperation,
  guards: Guards,
  compile: (viewer: Viewer | undefined) => PreparedOperation,
): PreparedOperation {
  if (guards.size === 0) return whole
  const conditions = conditionsOf(guards)
  const forms = makeLru<PreparedOperation>(FORMS_MAX)

  function formFor(viewer: Viewer | undefined): PreparedOperation {
    let grants = viewer === undefined ? 'nobody' : ''
    let all = viewer !== undefined
    if (viewer !== undefined) {
      for (const condition of conditions) {
        const granted = isGranted(condition, viewer)
        all &&= granted
        grants += granted ? '1' : '0'
      }
    }
    if (all) return whole
    let form = forms.get(grants)
    if (form === undefined) {
      form = operation.operation === 'subscription' ? subscriptionFor(viewer) : compile(viewer)
      forms.set(grants, form)
    }
    return form
  }

  /** A subscription whose one field is denied is refused; one whose events hold denied fields shows them as null. */
  function subscriptionFor(viewer: Viewer | undefined): PreparedOperation {
    const error = deniedRoot(operation.selectionSet, fragments, deniedTo(viewer, guards))
    if (error === undefined) return compile(viewer)
    const refused = { errors: [clientError(error, undefined)] }
    return { ...whole, subscribe: () => Promise.resolve(refused) }
  }

  return {
    ...whole,
    denials: (viewer) => denialsOf(viewer, guards),
    async execute(variables, context) {
      const form = formOrRefusal(context)
      return 'errors' in form ? form : form.execute(variables, context)
    },
    ...(whole.executeToJson === undefined
      ? {}
      : {
          async executeToJson(variables: Parameters<PreparedOperation['execute']>[0], context: RequestContext) {
            const form = formOrRefusal(context)
            if ('errors' in form) return JSON.stringify(form)
            return form.executeToJson === undefined
              ? JSON.stringify(await form.execute(variables, context))
              : form.executeToJson(variables, context)
          },
        }),
    async subscribe(variables, context) {
      const form = formOrRefusal(context)
      return 'errors' in form ? form : form.subscribe(variables, context)
    },
  }

  function formOrRefusal({ viewer }: RequestContext): PreparedOperation | (ExecutionResult & { errors: readonly GraphQLError[] }) {
    try {
      return formFor(viewer)
    } catch (error) {
      if (error instanceof GraphQLError) return { errors: [withCode(error, 'INTERNAL')] }
      return { errors: [codedError('INTERNAL', `The operation cannot be compiled: ${(error as Error).message}`)] }
    }
  }
}
