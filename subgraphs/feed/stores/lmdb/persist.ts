/** The persist step's side of the store. */
import type { DirtyKey } from '../../model/dirty-keys.ts'
import type { FilterWords, Post } from '../../model/post.ts'
import { readPost, readWords, replacePost, replaceWords, type FeedWork } from './work.ts'

export function readDirty(work: FeedWork, { viewer, post }: DirtyKey): Post | FilterWords | undefined {
  return (post === undefined ? readWords(work, viewer) : readPost(work, post))?.content
}

/** Clears the marks whose versions have not moved. */
export function clearDirty(work: FeedWork, keys: readonly { key: DirtyKey; version: number }[]): void {
  for (const { key, version } of keys) {
    if (key.post === undefined) {
      const held = readWords(work, key.viewer)
      if (held?.content.version === version) replaceWords(work, key.viewer, held, { dirtySince: 0, content: held.content })
    } else {
      const held = readPost(work, key.post)
      if (held?.content.version === version) replacePost(work, key.post, held, { dirtySince: 0, content: held.content })
    }
  }
}
