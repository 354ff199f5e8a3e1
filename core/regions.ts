/**
 * A region is the one shard for everything: the unit of atomicity in the hot store, of packing and partitioning in the log, and of
 * ownership by jobs. A viewer's region depends on the viewer alone, and the number of regions is fixed for a deployment's life.
 */
import type { ViewerId } from './domain.ts'
import { isIntegerId } from './keys.ts'

/** The viewer's region, 0 to `regions` - 1: the id mod R for integer ids, else FNV-1a of its UTF-16 units mod R. */
export function regionOf(viewer: ViewerId, regions: number): number {
  if (!isIntegerId(viewer)) return fnv1a(viewer) % regions
  if (viewer.length <= 15) return Number(viewer) % regions
  return Number(BigInt(viewer) % BigInt(regions))
}

/** FNV-1a, 32 bits (Fowler, Noll, Vo; draft-eastlake-fnv), over both bytes of each UTF-16 unit. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    hash = Math.imul(hash ^ (unit & 0xff), 0x01000193)
    hash = Math.imul(hash ^ (unit >>> 8), 0x01000193)
  }
  return hash >>> 0
}

/** The log partition of a region. */
export function partitionOf(region: number, partitions: number): number {
  return region % partitions
}
