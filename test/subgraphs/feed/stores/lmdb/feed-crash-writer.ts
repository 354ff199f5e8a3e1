/**
 * A process for `kill -9`: it publishes, deletes and clears posts, several calls in flight, until it is killed. It prints each acknowledged
 * post as JSON: `{ "id", "author", "clientKey" }`, then `{ "deleted": id }` or `{ "cleared": id }`.
 *
 *     node feed-crash-writer.ts FOLDER NAME
 */
import { writeSync } from 'node:fs'
import { openEnvironment } from '../../../../../stores/lmdb/environment.ts'
import { openLmdbFeedStore } from '../../../../../subgraphs/feed/stores/lmdb/hot-store.ts'

const AT_ONCE = 8
const AUTHORS = 5

async function publishForEver(folder: string, name: string): Promise<void> {
  const store = openLmdbFeedStore(openEnvironment(folder, { regions: 100, sizeMaxGb: 1 }))
  const tell = (line: object): void => void writeSync(1, `${JSON.stringify(line)}\n`)
  const options = () => ({ now: Date.now(), keepMs: 86_400_000 })

  async function publishSome(which: number): Promise<void> {
    for (let round = 0; ; round++) {
      const author = String(1 + ((which + round) % AUTHORS))
      const clientKey = `${name}-${which}-${round}`
      const draft = { author, clientKey, text: `text of ${clientKey}`, media: [], source: undefined, audience: undefined }
      const outcome = await store.publish(draft, options())
      if (outcome.status !== 'published') throw new Error(`${clientKey} is ${outcome.status}`)
      const { post } = outcome
      tell({ id: post.id, author, clientKey })
      if (round % 3 === 1) {
        await store.delete(post, options())
        tell({ deleted: post.id })
      } else if (round % 3 === 2) {
        await store.clearDirty([{ key: { viewer: author, post: post.id }, version: post.version }])
        tell({ cleared: post.id })
      }
    }
  }

  await Promise.all(Array.from({ length: AT_ONCE }, (_, which) => publishSome(which)))
}

const [folder = '', name = ''] = process.argv.slice(2)
await publishForEver(folder, name)
