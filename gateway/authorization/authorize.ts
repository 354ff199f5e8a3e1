/**
 * One operation, a form for each set of grants. The form for those who may see everything is the operation itself; the
 * others are compiled when somebody first needs them. Who asks is `context.viewer`.
 */
import type { ExecutionResult, GraphQLError } from 'graphql'
import type { Viewer } from '../../core/viewer.ts'
import { makeLru } from '../lru.ts'
import { FORM_BYTES } from '../memory/estimates.ts'
import type { Family } from '../memory/family.ts'
import type { ReadOperation } from '../operations.ts'
import { compileError } from '../operations.ts'
import type { PreparedOperation, RequestContext, Variables } from '../prepared.ts'
import type { Gate } from '../preparing.ts'
import { clientError } from '../subgraph-errors.ts'
import { conditionsOf, denialsOf, deniedRoot, deniedTo, type Guards } from './guarded.ts'
import { isGranted } from './rules.ts'

/** Forms of one operation that are kept besides the complete form. Callers usually have few sets of scopes, but an issuer may use many. */
const FORMS_MAX = 16

/** One that cannot be compiled is remembered as its errors. */
type Form = PreparedOperation | (ExecutionResult & { readonly errors: readonly GraphQLError[] })

/** `compile` makes the form for a viewer with these grants. Its variants are compiled when it first runs. */
export function authorize(
  whole: PreparedOperation,
  { operation, fragments }: ReadOperation,
  guards: Guards,
  family: Family,
  compile: (viewer: Viewer | undefined) => PreparedOperation,
): PreparedOperation {
  if (guards.size === 0) return whole
  const conditions = conditionsOf(guards)
  const forms = makeLru<Form>(FORMS_MAX)

  function formFor({ viewer }: RequestContext): Form {
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
      form = compileForm(viewer)
      forms.set(grants, form)
      family.hold('form', FORM_BYTES, 1, () => forms.forget(grants))
    }
    return form
  }

  function compileForm(viewer: Viewer | undefined): Form {
    try {
      return operation.operation === 'subscription' ? subscriptionFor(viewer) : compile(viewer)
    } catch (error) {
      return { errors: [compileError(error)] }
    }
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
    async execute(variables, context, gate) {
      const form = formFor(context)
      return 'errors' in form ? form : form.execute(variables, context, gate)
    },
    ...(whole.executeToJson === undefined
      ? {}
      : {
          async executeToJson(variables: Variables, context: RequestContext, gate?: Gate) {
            const form = formFor(context)
            if ('errors' in form) return form
            return (form.executeToJson ?? form.execute)(variables, context, gate)
          },
        }),
    async subscribe(variables, context, gate) {
      const form = formFor(context)
      return 'errors' in form ? form : form.subscribe(variables, context, gate)
    },
  }
}
