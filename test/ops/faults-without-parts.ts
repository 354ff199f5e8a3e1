import { faultsOf } from '../../harness/alerts/faults.ts'
import type { Site } from '../../harness/alerts/site.ts'

/** The faults by key, to be listed, not injected: no part of a site runs. */
export function faultsWithoutParts(): ReturnType<typeof faultsOf> {
  const deployment = { gateways: [], markJobs: [], seenJobs: [], feedJobs: [], whole: [], links: [], servers: {} }
  return faultsOf({ deployment, cache: { nodes: [] }, manifests: '' } as unknown as Site)
}
