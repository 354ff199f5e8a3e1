/**
 * Denied fields in an answer. They are in its shape, but no fetch asks for them. The run notes a failure for each place where a denied
 * field would have been, before the projection. Denied fields are then null like failed fields: with a full path, and with null
 * propagated to the nearest nullable parent.
 */
import type { Run } from '../execution/run.ts'
import { isRecord } from '../execution/run.ts'
import type { FieldShape, ObjectShape, Shape } from '../execution/shape.ts'
import type { FetchError } from '../transports/transport.ts'

/** Errors of one answer. Further denied places are null without an error. */
const ERRORS_MAX = 100

export function noteDenials(shape: ObjectShape, run: Run): void {
  walkObject(shape, run.data, [], { run, noted: 0 })
}

type Walk = { readonly run: Run; noted: number }

function walkObject(shape: ObjectShape, object: Record<string, unknown>, path: (string | number)[], walk: Walk): void {
  for (const field of shape.fields) {
    if (field.denied !== undefined) note(field, field.denied, object, path, walk)
    else if (field.shape.kind !== 'leaf' && Object.hasOwn(object, field.from)) {
      path.push(field.from)
      walkValue(field.shape, object[field.from], path, walk)
      path.pop()
    }
  }
}

function note(field: FieldShape, error: FetchError, object: object, path: readonly (string | number)[], walk: Walk): void {
  const { run } = walk
  walk.noted += 1
  if (walk.noted <= ERRORS_MAX) run.failures.push({ error, path: [...path, field.from] })
  else (run.lost ??= new Set()).add(object)
}

function walkValue(shape: Shape, value: unknown, path: (string | number)[], walk: Walk): void {
  if (shape.kind === 'list') {
    if (!Array.isArray(value)) return
    for (let index = 0; index < value.length; index += 1) {
      path.push(index)
      walkValue(shape.of, value[index], path, walk)
      path.pop()
    }
  } else if (isRecord(value)) {
    const typename = value['__typename']
    const object = shape.kind === 'abstract' ? shape.of(typeof typename === 'string' ? typename : undefined) : shape
    if (object?.kind === 'object') walkObject(object, value, path, walk)
  }
}
