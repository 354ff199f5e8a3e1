/** The lines of `tidemark export-business`, as `import-business` accepts them. */
import { z } from 'zod'
import { isTidemarkError } from '../../core/errors.ts'
import { checkId } from '../../core/keys.ts'

const id = z.string().superRefine((text, context) => {
  try {
    checkId(text, 'id')
  } catch (error) {
    if (!isTidemarkError(error)) throw error
    context.addIssue({ code: 'custom', message: error.message })
  }
})
const whole = z.number().int().min(0)
const totals = { id, counts: z.record(z.string(), whole), version: whole }

export const exportLine = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('mark'), viewer: id, id, mark: z.enum(['LIKE', 'DISLIKE']), markedAt: whole }),
  z.strictObject({ kind: z.literal('owner'), id, owner: id }),
  z.strictObject({
    kind: z.literal('post'),
    ...{ id, author: id, text: z.string(), media: z.array(z.string()) },
    ...{ source: id.optional(), audience: z.array(id).optional() },
    ...{ clientKey: id, version: whole },
  }),
  z.strictObject({ kind: z.literal('words'), viewer: id, words: z.array(z.string()), version: whole }),
  z.strictObject({ kind: z.literal('follow'), viewer: id, id, markedAt: whole }),
  z.strictObject({ kind: z.literal('count'), ...totals }),
  z.strictObject({ kind: z.literal('user-count'), ...totals }),
])

export type ExportLine = z.infer<typeof exportLine>
