/**
 * Checks shared by all stores on Redis: their options, the ownership of the server's data, the regions that do not answer, and the errors
 * of a start.
 */
import { TidemarkError, isTidemarkError } from '../../core/errors.ts'
import { saysFull } from '../../core/outage/degraded.ts'
import { PartFull, PartOutage } from '../../core/outage/part-outage.ts'
import { checkPrefix } from '../../config/store-addresses.ts'
import { scriptCommand } from './connection.ts'
import type { Command, Connection } from './connection.ts'
import { RedisRefusal, isWrongType } from './failures.ts'
import { PROBE } from './scripts.ts'

/** The part of a layout that this file needs. */
export type VerifiedLayout = {
  regions: number
  /** The hash with format and region count. */
  meta: string
  slot(region: number): number
  version(region: number): string
  never(region: number): string
  regionOf(viewer: string): number
  regionOfKey(key: string): number | undefined
}

const DAY_MS = 86_400_000

export function checkKeyOptions({ prefix, expireMs }: { prefix: string; expireMs: number }): void {
  checkPrefix(prefix, 'stores.redis')
  if (expireMs !== 0 && expireMs < DAY_MS) {
    throw new TidemarkError(
      'CONFIG_INVALID',
      `stores.redis.expireMs ${expireMs} is less than a day: what is not yet persisted could expire; use 0 for never`,
    )
  }
}

/**
 * For a start: rejects with CONFIG_INVALID if the server rejects the credentials, and with DATA_INCOMPATIBLE if it has the data of another
 * deployment. A server that does not answer, or refuses writes now, does not prevent the start.
 */
export async function checkRedisAtStart(store: { check(): Promise<void> }): Promise<void> {
  try {
    await store.check()
  } catch (error) {
    if (!isTidemarkError(error)) throw error
    const refusal = error instanceof PartOutage ? error.cause : error
    if (refusal instanceof RedisRefusal) throw new TidemarkError('CONFIG_INVALID', refusal.message, { cause: error })
    if (error.code !== 'HOT_STORE_UNAVAILABLE' && error.code !== 'STORE_FULL') throw error
  }
}

/**
 * Wraps a method so that nothing is read or written before the stored region count has been verified. A store that `mayBeUnfit` counts as
 * down while it has other data.
 */
export function makeVerification(connection: Connection, { meta, regions }: VerifiedLayout, ourFormat: string, mayBeUnfit = false) {
  let verified = false
  let underway: Promise<void> | undefined

  /** A value of another type belongs to another program. */
  function sendToMeta(commands: readonly Command[]): Promise<unknown[]> {
    return connection.send(commands).catch((error: unknown) => {
      if (!isWrongType(error)) throw error
      const sentence = `Redis at ${connection.address} has data of another program under "${meta}": use another prefix or server`
      throw new TidemarkError('DATA_INCOMPATIBLE', sentence, { cause: error })
    })
  }

  async function verifyOnce(): Promise<void> {
    await sendToMeta([
      { name: 'hsetnx', args: [meta, 'format', ourFormat] },
      { name: 'hsetnx', args: [meta, 'regions', regions] },
    ])
    const [answer] = await sendToMeta([{ name: 'hmget', args: [meta, 'format', 'regions'] }])
    const [format, stored] = (answer as Buffer[]).map(String)
    if (format !== ourFormat) {
      throw new TidemarkError(
        'DATA_INCOMPATIBLE',
        `Redis at ${connection.address} holds data of format ${format} under "${meta}", and this version reads ${ourFormat}: use another prefix or server`,
      )
    }
    if (stored !== String(regions)) {
      throw new TidemarkError(
        'DATA_INCOMPATIBLE',
        `Redis at ${connection.address} was filled with stores.regions ${stored} (see "${meta}"), and ${regions} is configured: set it back, or use another prefix or server`,
      )
    }
    verified = true
  }

  function refuse(error: unknown): never {
    if (!mayBeUnfit || !isTidemarkError(error) || error.code !== 'DATA_INCOMPATIBLE') throw error
    throw new TidemarkError('HOT_STORE_UNAVAILABLE', error.message, { cause: error })
  }

  return function verify<A extends unknown[], T>(method: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
    return async (...args) => {
      if (!verified) {
        underway ??= verifyOnce()
          .catch(refuse)
          .finally(() => {
            underway = undefined
          })
        await underway
      }
      return method(...args)
    }
  }
}

/** Regions fail one by one on a Cluster: each is on one node, and moves independently. */
export function outageOf(layout: VerifiedLayout, error: unknown, keys: readonly string[]): unknown {
  const out = new Set<number>()
  for (const key of keys) {
    const region = layout.regionOfKey(key)
    if (region === undefined) return error
    out.add(region)
  }
  return saysFull(error) ? new PartFull(error, out) : new PartOutage(error, (viewer) => out.has(layout.regionOf(viewer)))
}

/** Without a part: one region on each node that has any. The error of a full node names all regions of that node. */
export async function checkRegions(connection: Connection, layout: VerifiedLayout, part?: number): Promise<void> {
  const probe = (region: number) => scriptCommand(PROBE, [layout.version(region), layout.never(region)], [])
  if (part !== undefined) {
    await connection.send([probe(part)])
    return
  }
  await connection.masters()
  const regions = Array.from({ length: layout.regions }, (_, region) => region)
  const regionsOn = [...Map.groupBy(regions, (region) => connection.ownerOf(layout.slot(region))).values()]
  try {
    await connection.send(regionsOn.map(([region]) => probe(region as number)))
  } catch (error) {
    if (!(error instanceof PartFull)) throw error
    throw new PartFull(error, new Set(regionsOn.filter(([region]) => error.parts.has(region as number)).flat()))
  }
}
