/**
 * The contract of the log of plays, run unchanged by every adapter:
 *
 *     playLogContract('kafka', async () => ({ log, regions: 100, appendRaw, listDead, reopen, dispose }))
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Play } from '../../../core/domain.ts'
import { encodePlays } from '../../../subgraphs/feed-existence/model/play-codec.ts'
import type { PlayLog } from '../../../subgraphs/feed-existence/stores/play-log.ts'
import { freshNamedViewer, freshViewer } from '../reports.ts'
import { until } from '../../../harness/until.ts'
import type { LogConsumer } from '../../../core/log-consumer.ts'

export type OpenedPlayLog = {
  log: PlayLog
  regions: number
  appendRaw(bytes: Uint8Array): Promise<void>
  /** The quarantined messages as they were written, oldest first. */
  listDead(): Promise<Uint8Array[]>
  reopen(): Promise<PlayLog>
  dispose(): Promise<void>
}

const playOf = (viewer: string, oid: string, playedAt = 1_700_000_000_000): Play => ({ viewer, business: 3, oid, playedAt })

export function playLogContract(name: string, open: () => Promise<OpenedPlayLog>): void {
  describe(`play log contract: ${name}`, { timeout: 120_000 }, () => {
    let opened: OpenedPlayLog
    let log: PlayLog
    const consumers: LogConsumer[] = []
    beforeAll(async () => {
      opened = await open()
      log = opened.log
    })
    afterEach(async () => {
      for (const consumer of consumers.splice(0)) await consumer.stop()
    })
    afterAll(() => opened.dispose())

    async function consume(failures = 0) {
      const seen: Play[] = []
      const parked: string[] = []
      let left = failures
      const consumer = await log.consumePlays({
        async stage(plays) {
          if (left-- > 0) throw new Error('not now')
          seen.push(...plays)
        },
        parked: (reason) => void parked.push(reason),
      })
      consumers.push(consumer)
      const of = (viewer: string): Play[] => seen.filter((play) => play.viewer === viewer)
      return { consumer, of, parked }
    }

    it('plays arrive unchanged, for any viewer ids', async () => {
      const [one, other] = [freshViewer(), freshNamedViewer()]
      const plays = [playOf(one, '1'), playOf(other, 'ä/7', 1), playOf(one, '2', 2 ** 52)]
      await log.appendPlays(plays)
      const { of } = await consume()
      await until('all came', () => of(one).length + of(other).length >= 3)
      expect(of(one)).toEqual([plays[0], plays[2]])
      expect(of(other)).toEqual([plays[1]])
    })

    it('plays that could not be staged are delivered again, and nothing is skipped', async () => {
      const viewer = freshViewer()
      const { of } = await consume(2)
      for (const oid of ['1', '2', '3']) await log.appendPlays([playOf(viewer, oid)])
      await until('all came', () => new Set(of(viewer).map(({ oid }) => oid)).size === 3)
    })

    it('staged plays are not delivered again, even after the log was reopened', async () => {
      const [before, after] = [freshViewer(), freshViewer()]
      const first = await consume()
      await log.appendPlays([playOf(before, '1')])
      await until('it came', () => first.of(before).length === 1)
      await until('nothing lags', async () => (await log.lag()) === 0)
      for (const consumer of consumers.splice(0)) await consumer.stop()
      await log.appendPlays([playOf(after, '1')])
      expect(await log.lag()).toBe(1)
      log = await opened.reopen()
      const second = await consume()
      await until('the new one came', () => second.of(after).length === 1)
      expect(second.of(before)).toEqual([])
    })

    it('an end is staged once all plays before it are, regardless of later ones', async () => {
      const viewer = freshViewer()
      await log.appendPlays([playOf(viewer, '1')])
      const end = await log.end()
      await log.appendPlays([playOf(viewer, '2')])
      expect(await log.isStaged(end)).toBe(false)
      expect(await log.isStaged(await log.end())).toBe(false)
      const { of } = await consume()
      await until('it is staged', () => log.isStaged(end))
      expect(of(viewer)).toContainEqual(playOf(viewer, '1'))
      await until('all is', async () => log.isStaged(await log.end()))
      expect(of(viewer)).toContainEqual(playOf(viewer, '2'))
    })

    it('an unreadable message is quarantined with its reason, and later messages are delivered', async () => {
      const viewer = freshViewer()
      await opened.appendRaw(Buffer.from('no plays'))
      await log.appendPlays([playOf(viewer, '1')])
      const { of, parked } = await consume()
      await until('both are dealt with', () => of(viewer).length === 1 && parked.length === 1)
    })

    it('invalid plays are quarantined separately, and the others of their message are staged', async () => {
      const viewer = freshViewer()
      const good = [playOf(viewer, '1'), playOf(viewer, '2')]
      const bad = [playOf(viewer, 'x'.repeat(65)), playOf(viewer, ''), playOf('', '3'), { ...playOf(viewer, '4'), business: 0 }]
      const late = [playOf(viewer, '5', 0), playOf(viewer, '6', Number.MAX_SAFE_INTEGER * 2)]
      const [first, second] = good as [Play, Play]
      await opened.appendRaw(encodePlays([first, ...bad, second, ...late]))
      await opened.appendRaw(encodePlays([playOf('', '7')]))
      const { of, parked } = await consume()
      await until('all are dealt with', () => of(viewer).length === 2 && parked.length === 2)
      expect(of(viewer)).toEqual(good)
      expect(parked[0]).toBe('6 of 8 plays cannot be held; the first of them: its oid has 65 bytes: send at most 64 bytes of UTF-8')
      expect(parked[1]).toContain('1 of 1 plays')
      const dead = await opened.listDead()
      expect(dead.slice(-2).map((bytes) => Buffer.from(bytes))).toEqual([
        Buffer.from(encodePlays([...bad, ...late])),
        Buffer.from(encodePlays([playOf('', '7')])),
      ])
    })

    it('a play with an invalid or truncated id does not affect the others of its message', async () => {
      const viewer = freshViewer()
      const good = [playOf(viewer, '1'), playOf(viewer, 'three')] as const
      // A play of viewer "A" with an oid of the bytes ff fe, and one without a viewer whose oid is shorter than its length.
      const [noText, cut] = [Buffer.from('0a070a01411a02fffe', 'hex'), Buffer.from('0a031a0541', 'hex')]
      await opened.appendRaw(Buffer.concat([encodePlays([good[0]]), noText, cut, encodePlays([good[1]])]))
      await opened.appendRaw(noText)
      const { of, parked } = await consume()
      await until('all are dealt with', () => of(viewer).length === 2 && parked.length === 2)
      expect(of(viewer)).toEqual(good)
      const sentence = 'its viewer or oid is not UTF-8: send well-formed Unicode'
      expect(parked).toEqual([
        `2 of 4 plays cannot be held; the first of them: ${sentence}`,
        `1 of 1 plays cannot be held; the first of them: ${sentence}`,
      ])
      const dead = await opened.listDead()
      expect(dead.slice(-2).map((bytes) => Buffer.from(bytes))).toEqual([Buffer.concat([noText, cut]), noText])
    })

    it('thousands of plays of a call are delivered completely', async () => {
      const viewer = freshViewer()
      const plays = Array.from({ length: 5_000 }, (_, at) => playOf(viewer, String(at)))
      await log.appendPlays(plays)
      const { of } = await consume()
      await until('all came', () => of(viewer).length >= 5_000)
      expect(of(viewer)).toEqual(plays)
    })

    it('a lone consumer gets every region, and none once it has stopped', async () => {
      const { consumer } = await consume()
      await until('it owns all', () => consumer.ownedRegions().length === opened.regions)
      await consumer.stop()
      expect(consumer.ownedRegions()).toEqual([])
    })
  })
}
