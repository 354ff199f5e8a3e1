/** The traces of a viewer in the tables of feed existence on LMDB. */
import type { Traces } from '../../../../core/erasure/traces.ts'
import { packedIdOf, unpackId } from '../../../../core/keys.ts'
import type { Environment } from '../../../../stores/lmdb/environment.ts'
import { failingAs } from '../../../../stores/lmdb/failures.ts'
import { makeLmdbTraces, rangeOf } from '../../../../stores/lmdb/traces.ts'
import { openLogTables } from '../../../../writeback/stores/lmdb/log-tables.ts'
import { rewardOfKey } from '../../../../writeback/stores/lmdb/pending-rewards.ts'
import { parkedIn } from '../../../../writeback/stores/lmdb/traces.ts'
import { decodePlays, encodePlays } from '../../model/play-codec.ts'
import { FILTER, readExpiringKey } from './filter-values.ts'
import { makePlace, readRingKey, stagedRange } from './keys.ts'
import { openSeenTables } from './put.ts'

const byViewer = (viewer: string) => [rangeOf(packedIdOf(viewer))]
/** An entry of the table by time is the time (6 bytes) and the key of the list, which begins with the viewer. */
const LIST_AT = 6
/** A day flag is the day, the kind and the business (7 bytes), and the viewer. */
const FLAGGED_AT = 7

export function openSeenTraces(environment: Environment): { hot: Traces; records: Traces; log: Traces } {
  const { seen, served, ring, days, rewards } = openSeenTables(environment)
  const [filters, quarantined] = [environment.table('seen-filters'), environment.table('seen-quarantined')]

  function hasNoPlays(key: Buffer): boolean {
    const { slot, viewer } = readRingKey(key)
    return [...seen.getKeys({ ...stagedRange(makePlace(viewer), slot), limit: 1 })].length === 0
  }

  function hasExpired(entry: Buffer): boolean {
    const { table, key } = readExpiringKey(entry)
    return !(table === FILTER ? filters : quarantined).doesExist(key)
  }

  return {
    hot: makeLmdbTraces(
      environment,
      (task) => failingAs('HOT_STORE_UNAVAILABLE', environment.folder, task),
      [{ table: seen, rangesOf: byViewer }],
      [
        {
          table: served,
          isOf: ({ key }, viewer) => unpackId(key, LIST_AT) === viewer,
          mayRemove: (key) => !seen.doesExist(key.subarray(LIST_AT)),
        },
        { table: ring, isOf: ({ key }, viewer) => readRingKey(key).viewer === viewer, mayRemove: hasNoPlays },
        { table: days, isOf: ({ key }, viewer) => unpackId(key, FLAGGED_AT) === viewer },
        { table: rewards, isOf: ({ key }, viewer) => rewardOfKey(key).viewer === viewer },
      ],
    ),
    records: makeLmdbTraces(
      environment,
      (task) => failingAs('RECORD_STORE_UNAVAILABLE', environment.folder, task),
      [
        { table: filters, rangesOf: byViewer },
        { table: quarantined, rangesOf: byViewer },
      ],
      [
        {
          table: environment.table('seen-expiring'),
          isOf: ({ key }, viewer) => unpackId(readExpiringKey(key).key, 0) === viewer,
          mayRemove: hasExpired,
        },
      ],
    ),
    log: logTraces(environment),
  }
}

/** A message has plays of many viewers. */
function logTraces(environment: Environment): Traces {
  const { flushes, dead } = openLogTables(environment, 'plays')
  return makeLmdbTraces(
    environment,
    (task) => failingAs('LOG_UNAVAILABLE', environment.folder, task),
    [],
    [
      {
        table: flushes,
        isOf: ({ value }, viewer) => decodePlays(value).plays.some((play) => play.viewer === viewer),
        without(value, viewer) {
          const rest = decodePlays(value).plays.filter((play) => play.viewer !== viewer)
          return rest.length === 0 ? undefined : Buffer.from(encodePlays(rest))
        },
      },
      parkedIn(dead),
    ],
  )
}
