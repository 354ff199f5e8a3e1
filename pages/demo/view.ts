/** The page gives these to the view that it shows. */
import type { Identity } from '../shared/api.ts'
import type { Asking } from './asking.ts'
import type { Connection } from './live.ts'

export type ViewProps = { identity: Identity; viewer: string; device: string; asking: Asking; live: Connection }

/** The viewers of the demo's menu. */
export const VIEWERS: readonly string[] = ['ada', 'ben', 'cleo']
