/** The contract of the longset store port, run unchanged by every adapter. The suite uses its own viewers. */
import { expect, it } from 'vitest'
import { buildLongset } from '../../../subgraphs/feed/packed/longset.ts'
import type { LongsetStore } from '../../../subgraphs/feed/stores/longset-store.ts'
import { describeStore, type OpenedStore } from '../opened-store.ts'

const TTL_MS = 60_000

export function longsetStoreContract(name: string, open: () => Promise<OpenedStore<LongsetStore>>): void {
  describeStore(`longset store contract: ${name}`, open, ({ store, another }) => {
    const follows = ['1', '2', '900000000000000007', 'anna', 'bär']

    async function build(viewer: string, ids: readonly string[]): Promise<boolean> {
      const lease = await store().beginBuild(viewer)
      return store().put(viewer, buildLongset(ids), lease, TTL_MS)
    }

    it('a viewer without a set is a miss, in every read', async () => {
      expect(await store().get('miss')).toBeUndefined()
      expect(await store().has('miss', ['1'])).toBeUndefined()
      expect(await store().countMany(['miss'])).toEqual([undefined])
    })

    it('a stored set is read by another process, whole, by id and by count', async () => {
      expect(await build('41', follows)).toBe(true)
      const other = await another()
      expect(await other.get('41')).toEqual(buildLongset(follows))
      expect(await other.has('41', ['anna', '3', '1', 'bar', 'bär', '900000000000000007', '900000000000000008'])).toEqual([
        ...[true, false, true, false, true, true, false],
      ])
      expect(await other.countMany(['41', 'miss'])).toEqual([5, undefined])
      await other.close()
    })

    it('5,000 ids are stored, and each is found without the set', async () => {
      const ids = Array.from({ length: 5_000 }, (_, at) => (at % 10 === 0 ? `name-${at}` : String(at * 7)))
      expect(await build('42', ids)).toBe(true)
      expect((await store().has('42', ids))?.every(Boolean)).toBe(true)
      expect(
        (
          await store().has(
            '42',
            ids.map((id) => `${id}1x`),
          )
        )?.some(Boolean),
      ).toBe(false)
    })

    it('an empty set is a set', async () => {
      expect(await build('43', [])).toBe(true)
      expect(await store().has('43', ['1'])).toEqual([false])
      expect(await store().countMany(['43'])).toEqual([0])
    })

    it('a set is refused if its viewer was forgotten after the lease', async () => {
      const lease = await store().beginBuild('44')
      await store().forget(['44'], 0)
      expect(await store().put('44', buildLongset(follows), lease, TTL_MS)).toBe(false)
      expect(await store().get('44')).toBeUndefined()
    })

    it('forgetting removes the set, of each named viewer only', async () => {
      await build('45', follows)
      await build('46', follows)
      await store().forget(['45', '47'], 0)
      expect(await store().get('45')).toBeUndefined()
      expect(await store().get('46')).toBeDefined()
    })

    it('two builders share a lease, and one lease ends for both', async () => {
      const [first, second] = [await store().beginBuild('48'), await store().beginBuild('48')]
      expect(await store().put('48', buildLongset(['1']), first, TTL_MS)).toBe(true)
      expect(await store().put('48', buildLongset(['2']), second, TTL_MS)).toBe(true)
      await store().forget(['48'], 0)
      expect(await store().put('48', buildLongset(['3']), first, TTL_MS)).toBe(false)
      expect(await store().put('48', buildLongset(['3']), second, TTL_MS)).toBe(false)
    })

    it('a lease that begins while a writer is under way is void', async () => {
      await store().forget(['49'], TTL_MS)
      expect(await build('49', follows)).toBe(false)
      await store().forget(['49'], 0)
      expect(await build('49', follows)).toBe(true)
    })

    it('a set ends after its time', async () => {
      const lease = await store().beginBuild('50')
      expect(await store().put('50', buildLongset(follows), lease, 1)).toBe(true)
      await new Promise((resolve) => setTimeout(resolve, 20))
      expect(await store().get('50')).toBeUndefined()
      expect(await store().has('50', ['1'])).toBeUndefined()
    })
  })
}
