/**
 * Serves one operation in one form per set of grants. A viewer with all grants gets the operation itself. Other forms are compiled when
 * they are first needed. The viewer is `context.viewer`.
 */
import type { ExecutionResult, GraphQLError } from 'graphql'
import type { Viewer } from '../../core/viewer.ts'
import { makeLru } from '../operation/lru.ts'
import type { Holding } from '../memory/client-memory.ts'
import { FORM_BYTES } from '../memory/estimates.ts'
import { makeFamily, NOTHING_HELD, type Family } from '../memory/family.ts'
import type { ReadOperation } from '../operation/operations.ts'
import { compileError } from '../operation/operations.ts'
import type { PreparedOperation, RequestContext, Variables } from '../operation/prepared-operation.ts'
import type { Gate } from '../operation/preparing.ts'
import { clientError } from '../execution/subgraph-errors.ts'
import { conditionsOf, denialsOf, deniedRoot, deniedTo, type Guards } from './guards.ts'
import { isGranted } from './access-rules.ts'

/** Forms of one operation that are kept besides the complete form. Callers usually have few sets of scopes, but an issuer may use many. */
const FORMS_MAX = 16

/** A form that cannot be compiled is kept as its errors. */
type Form = PreparedOperation | (ExecutionResult & { readonly errors: readonly GraphQLError[] })
/** `own` holds the variants of the form. */
type Kept = { readonly form: Form; holding: Holding; readonly own: Family }

/**
 * `compile` makes the form for a viewer with these grants. Its variants are compiled when it first runs, and the given family holds
 * them.
 */
export function authorize(
  whole: PreparedOperation,
  { operation, fragments }: ReadOperation,
  guards: Guards,
  family: Family,
  compile: (viewer: Viewer | undefined, family: Family) => PreparedOperation,
): PreparedOperation {
  if (guards.size === 0) return whole
  const conditions = conditionsOf(guards)
  const forms = makeLru<Kept>(FORMS_MAX, (_grants, { holding, own }) => {
    holding.release()
    own.release()
  })

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
    const known = forms.get(grants)
    known?.holding.touch()
    return known?.form ?? keep(grants, viewer)
  }

  function keep(grants: string, viewer: Viewer | undefined): Form {
    const own = makeFamily(family)
    const kept: Kept = { form: compileForm(viewer, own), holding: NOTHING_HELD, own }
    forms.set(grants, kept)
    kept.holding = family.hold('form', FORM_BYTES, 1, () => {
      if (forms.get(grants) === kept) forms.forget(grants)
    })
    return kept.form
  }

  function compileForm(viewer: Viewer | undefined, own: Family): Form {
    try {
      return operation.operation === 'subscription' ? subscriptionFor(viewer, own) : compile(viewer, own)
    } catch (error) {
      return { errors: [compileError(error)] }
    }
  }

  /** If the only field of a subscription is denied, the subscription is refused. Denied fields within its events are null. */
  function subscriptionFor(viewer: Viewer | undefined, own: Family): PreparedOperation {
    const error = deniedRoot(operation.selectionSet, fragments, deniedTo(viewer, guards))
    if (error === undefined) return compile(viewer, own)
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
