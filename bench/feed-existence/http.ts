/** `unseen` over HTTP from a `tidemark start` on a filled folder: a whole gateway, JSON included, in its own process. */
import { callApi } from '../../conformance/api-client.ts'
import { systemClock } from '../../core/clock.ts'
import { SCOPE_EXISTENCE_BULK } from '../../core/viewer.ts'
import { makeServiceFolder, startService } from '../../harness/deployment/service.ts'
import type { Measure } from '../support/report.ts'
import { COUNTS, putViewers } from './reads.ts'
import { REGIONS, openEmbeddedStores } from './servers.ts'
import { candidatesOf, timingsOf, type MadeViewer } from './viewers.ts'
import { join } from 'node:path'

const UNSEEN = 'query Unseen($ids: [ID!]!) { unseen(business: "video", candidates: $ids) { ids droppedFiltered } }'
const WARM_UP = 50

export async function measureHttp(viewers: readonly MadeViewer[], calls: number): Promise<Measure[]> {
  const { folder, remove } = makeServiceFolder()
  const stores = openEmbeddedStores(systemClock, join(folder, 'data'))
  await putViewers(stores, viewers)
  await stores.close()
  const service = await startService({ folder, settings: { stores: { regions: REGIONS } } })
  try {
    const measures: Measure[] = []
    for (const count of COUNTS) {
      const samples: number[] = []
      const total = Math.ceil((calls * 2_000) / count)
      for (let call = -WARM_UP; call < total; call++) {
        const viewer = viewers[(call + WARM_UP) % viewers.length] as MadeViewer
        const ids = candidatesOf(viewer, call + WARM_UP, count)
        const begun = performance.now()
        const { unseen } = await callApi<{ unseen: { ids: string[] } }>(service.url, UNSEEN, { ids }, identityOf(viewer))
        if (call >= 0) samples.push(performance.now() - begun)
        if (unseen.ids.length > count * 0.95) throw new Error('watched subjects came back')
      }
      const { p50Ms, p99Ms } = timingsOf(samples)
      measures.push(
        { metric: `HTTP, filters in memory, ${count} candidates: p50`, value: p50Ms, unit: 'ms' },
        { metric: `HTTP, filters in memory, ${count} candidates: p99`, value: p99Ms, unit: 'ms' },
      )
    }
    return measures
  } finally {
    await service.stop()
    remove()
  }
}

function identityOf({ name }: MadeViewer): { viewer: string; scopes: string[] } {
  return { viewer: name, scopes: [SCOPE_EXISTENCE_BULK] }
}
