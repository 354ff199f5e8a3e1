/**
 * The hot store on Redis 7 or later, or Valkey: a single server or a Cluster. `layout.ts` says what stands where, the
 * scripts do each write in one atomic step per region, `connection.ts` bounds every wait.
 *
 * Opening connects in the background and never fails, so that a process may start while Redis is down. The first call
 * that gets an answer writes down the region count, or finds another deployment's and rejects with DATA_INCOMPATIBLE, as
 * does every call after it: call `checkRedisAtStart` at start.
 */
import { TidemarkError, isTidemarkError } from '../../core/errors.ts'
import { PartOutage } from '../../core/part-outage.ts'
import type { HotStore } from '../hot-store.ts'
import { connect, scriptCommand } from './connection.ts'
import type { RedisConnectionOptions } from './clients.ts'
import type { Connection } from './connection.ts'
import { RedisRefusal } from './failures.ts'
import { makeFollowing } from './following.ts'
import { FORMAT, makeLayout } from './layout.ts'
import type { Layout } from './layout.ts'
import { makePersisting } from './persisting.ts'
import { makePurging } from './purging.ts'
import { makeReading } from './reading.ts'
import { SCRIPTS } from './scripts.ts'
import { makeWriting } from './writing.ts'

export type RedisHotStoreOptions = RedisConnectionOptions & {
  /** Shards of viewers: 1 to 16384, fixed for the life of a deployment. */
  regions: number
  /** What all keys begin with, for deployments that share a server. No braces. Default "tm". */
  prefix?: string
  /**
   * Milliseconds without a write after which a viewer's timeline in a business leaves memory: at least the retention of the
   * record store, since what has left is not looked for there. Default 0: never. Minimum otherwise one day.
   */
  expireMs?: number
}

const DAY_MS = 86_400_000

export function openRedisHotStore(options: RedisHotStoreOptions): HotStore {
  const { regions, prefix = 'tm', expireMs = 0 } = options
  if (/[{}]/.test(prefix))
    throw new TidemarkError('CONFIG_INVALID', `stores.redis.prefix "${prefix}" has a brace, which marks the hash tag: leave it out`)
  if (expireMs !== 0 && expireMs < DAY_MS) {
    throw new TidemarkError(
      'CONFIG_INVALID',
      `stores.redis.expireMs ${expireMs} is less than a day: what is not yet persisted could expire; use 0 for never`,
    )
  }
  const layout = makeLayout(prefix, regions)
  const connection = connect(options, (error, keys) => outageOf(layout, error, keys))
  const verify = makeVerification(connection, layout)
  const reading = makeReading(connection, layout)
  const port = {
    ...reading,
    ...makeWriting(connection, layout, expireMs),
    ...makePersisting(connection, layout),
    ...makePurging(connection, layout),
    ...makeFollowing(connection, layout),
    getSettings: async (viewer: string) => (await reading.getSettingsMany([viewer]))[0] as Awaited<ReturnType<HotStore['getSettings']>>,
    readDirtySettings: reading.getSettingsMany,
    check: (part?: number) => checkRegions(connection, layout, part),
  }
  return {
    putProgress: verify(port.putProgress),
    deleteProgress: verify(port.deleteProgress),
    clearProgress: verify(port.clearProgress),
    setPaused: verify(port.setPaused),
    getSettings: verify(port.getSettings),
    getProgressMany: verify(port.getProgressMany),
    listTimeline: verify(port.listTimeline),
    listChanges: verify(port.listChanges),
    readDirtyProgress: verify(port.readDirtyProgress),
    readDirtySettings: verify(port.readDirtySettings),
    clearDirty: verify(port.clearDirty),
    dropDirty: verify(port.dropDirty),
    listDirty: verify(port.listDirty),
    countDirty: verify(port.countDirty),
    listPendingRewards: verify(port.listPendingRewards),
    confirmRewards: verify(port.confirmRewards),
    purgeExpired: verify(port.purgeExpired),
    followProgress: verify(port.followProgress),
    check: verify(port.check),
    ...(connection.isCluster ? { partOf: layout.regionOf } : {}),
    async close() {
      port.closeFollowing()
      connection.close()
    },
  }
}

/**
 * For a start: rejects with CONFIG_INVALID if the server refuses us and with DATA_INCOMPATIBLE if it holds another
 * deployment's data. One that does not answer, or takes no writes now, is no reason not to start.
 */
export async function checkRedisAtStart(hot: HotStore): Promise<void> {
  try {
    await hot.check()
  } catch (error) {
    if (!isTidemarkError(error)) throw error
    const refusal = error instanceof PartOutage ? error.cause : error
    if (refusal instanceof RedisRefusal) throw new TidemarkError('CONFIG_INVALID', refusal.message, { cause: error })
    if (error.code !== 'HOT_STORE_UNAVAILABLE' && error.code !== 'STORE_FULL') throw error
  }
}

/** Wraps a method so that nothing is read or written before the stored region count is known to be ours. */
function makeVerification(connection: Connection, layout: Layout) {
  let verified = false
  let underway: Promise<void> | undefined

  async function verifyOnce(): Promise<void> {
    const { meta, regions } = layout
    const ours = [FORMAT, String(regions)]
    await connection.send([
      { name: 'hsetnx', args: [meta, 'format', FORMAT] },
      { name: 'hsetnx', args: [meta, 'regions', regions] },
    ])
    const [answer] = await connection.send([{ name: 'hmget', args: [meta, 'format', 'regions'] }])
    const [format, stored] = (answer as Buffer[]).map(String)
    if (format !== ours[0]) {
      throw new TidemarkError(
        'DATA_INCOMPATIBLE',
        `Redis at ${connection.address} holds data of format ${format} under "${meta}", and this version reads ${FORMAT}: use another prefix or server`,
      )
    }
    if (stored !== ours[1]) {
      throw new TidemarkError(
        'DATA_INCOMPATIBLE',
        `Redis at ${connection.address} was filled with stores.regions ${stored} (see "${meta}"), and ${regions} is configured: set it back, or use another prefix or server`,
      )
    }
    verified = true
  }

  return function verify<A extends unknown[], T>(method: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
    return async (...args) => {
      if (!verified) {
        underway ??= verifyOnce().finally(() => {
          underway = undefined
        })
        await underway
      }
      return method(...args)
    }
  }
}

/** Regions are what fails one by one on a Cluster: each is on one node, and moves by itself. */
function outageOf(layout: Layout, error: unknown, keys: readonly string[]): unknown {
  const out = new Set(keys.map((key) => layout.regionOfKey(key)))
  return out.has(undefined) ? error : new PartOutage(error, (viewer) => out.has(layout.regionOf(viewer)))
}

/** Of the whole store: one region on each node that has any. */
async function checkRegions(connection: Connection, layout: Layout, part: number | undefined): Promise<void> {
  const probe = (region: number) => scriptCommand(SCRIPTS.probe, [layout.version(region), layout.never(region)], [])
  if (part !== undefined) {
    await connection.send([probe(part)])
    return
  }
  await connection.masters()
  const regionOn = new Map<unknown, number>()
  for (let region = 0; region < layout.regions; region++) regionOn.set(connection.ownerOf(layout.slot(region)), region)
  await connection.send([...regionOn.values()].map(probe))
}
