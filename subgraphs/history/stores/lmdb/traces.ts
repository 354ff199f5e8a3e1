/** The traces of a viewer in the tables of history on LMDB. */
import type { Traces } from '../../../../core/erasure/traces.ts'
import { packedIdOf } from '../../../../core/keys.ts'
import { isSettingsKey } from '../../../../core/progress-key.ts'
import { keyOfMark } from '../../../../stores/lmdb/dirty-marks.ts'
import type { Environment } from '../../../../stores/lmdb/environment.ts'
import { failingAs } from '../../../../stores/lmdb/failures.ts'
import { makeLmdbTraces, rangeOf, type RangeTable } from '../../../../stores/lmdb/traces.ts'
import { SETTINGS, makeShelf, plainKey, recordKey } from '../../../../stores/lmdb/viewer-keys.ts'
import { rewardOfKey } from '../../../../writeback/stores/lmdb/pending-rewards.ts'
import { openHotTables } from './work.ts'

const byViewer = (viewer: string) => [rangeOf(packedIdOf(viewer))]

export function openHistoryTraces(environment: Environment): { hot: Traces; records: Traces } {
  const { viewers, dirty, rewards } = openHotTables(environment)

  /** A mark whose content is there is that of a newer write. */
  function isLost(mark: Buffer): boolean {
    const key = keyOfMark(mark)
    const shelf = makeShelf(key.viewer, key.business)
    return !viewers.doesExist(isSettingsKey(key) ? plainKey(shelf, SETTINGS) : recordKey(shelf, key.oid))
  }

  const records: RangeTable = { table: environment.table('records'), rangesOf: byViewer }
  return {
    hot: makeLmdbTraces(
      environment,
      (task) => failingAs('HOT_STORE_UNAVAILABLE', environment.folder, task),
      [{ table: viewers, rangesOf: byViewer }],
      [
        { table: dirty, isOf: ({ key }, viewer) => keyOfMark(key).viewer === viewer, mayRemove: isLost },
        { table: rewards, isOf: ({ key }, viewer) => rewardOfKey(key).viewer === viewer },
      ],
    ),
    records: makeLmdbTraces(environment, (task) => failingAs('RECORD_STORE_UNAVAILABLE', environment.folder, task), [records]),
  }
}
