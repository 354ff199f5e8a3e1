/** The fields of `SetMarkPayload` that need a read, or an entity. They are resolved only if the operation selects them. */
import { knownSubject, type SubjectEntity } from '../subjects.ts'
import type { SetMarkPayload } from './answers.ts'
import type { ThumbupBusinesses } from './businesses.ts'
import type { ThumbupContext } from './context.ts'

export function makePayloadFields(businesses: Pick<ThumbupBusinesses, 'byNumber'>) {
  return {
    /** As the caller sees it: a service that writes for another viewer sees the subject with its own mark. */
    subject({ key, written }: SetMarkPayload, _: unknown, { viewer }: ThumbupContext): SubjectEntity | null {
      const entity = key === undefined ? undefined : businesses.byNumber(key.business)?.entity
      if (key === undefined || entity === undefined) return null
      return knownSubject(entity, key.oid, key.viewer === viewer?.id ? { written } : {})
    },
    async state({ key, changed, outcome }: SetMarkPayload, _: unknown, context: ThumbupContext) {
      if (key === undefined) return null
      if (outcome === 'ACCEPTED' && changed !== false) return 'PENDING'
      const held = await context.loaders.marks.load(key)
      // A repeated mark is not persisted yet either, but the public counts already include it.
      return held && (held.pending && held.counted !== held.mark ? 'PENDING' : 'SETTLED')
    },
  }
}
