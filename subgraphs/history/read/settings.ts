/** A viewer's settings, with the newest switch that waits in the journal. */
import type { ViewerId, ViewerSettings } from '../../../core/domain.ts'
import { noteLack, type Degraded, type MayLack, noteOrThrow } from '../../../core/outage/degraded.ts'
import type { HotStore } from '../stores/hot-store.ts'
import type { RecordStore } from '../stores/record-store.ts'

const NO_SETTINGS: ViewerSettings = { paused: false, clearedAt: {}, version: 0 }

type Waiting = { mayLack: MayLack; pausedBy(viewer: ViewerId): boolean | undefined }

/** With the hot store down it answers from the record store, and with both down with the defaults. */
export async function readSettings(
  hot: Pick<HotStore, 'getSettings'>,
  records: Pick<RecordStore, 'getSettingsMany'>,
  { mayLack, pausedBy }: Waiting,
  viewer: ViewerId,
  degraded: Degraded,
): Promise<ViewerSettings> {
  const paused = pausedBy(viewer)
  noteLack([{ viewer }], mayLack, degraded)
  const settings = await storedSettings(hot, records, viewer, degraded)
  return { ...settings, paused: paused ?? settings.paused }
}

async function storedSettings(
  hot: Pick<HotStore, 'getSettings'>,
  records: Pick<RecordStore, 'getSettingsMany'>,
  viewer: ViewerId,
  degraded: Degraded,
): Promise<ViewerSettings> {
  try {
    return await hot.getSettings(viewer)
  } catch (error) {
    noteOrThrow(error, 'hotStore', degraded)
  }
  try {
    const [settings = NO_SETTINGS] = await records.getSettingsMany([viewer])
    return settings
  } catch (error) {
    noteOrThrow(error, 'recordStore', degraded)
    return NO_SETTINGS
  }
}
