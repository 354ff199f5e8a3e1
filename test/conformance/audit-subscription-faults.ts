/** Faults of the subscription to changes of a history, by the check of the audit that must detect them. */
import { changing, inSecond, type PlannedFault } from './fault-kinds.ts'
import { everybodyIsOne } from './fault-viewers.ts'
import { askedWith } from './faulty-proxy.ts'

export const olderLookup = changing('looks up an older position', /AuditLookup/, (data) => {
  for (const { viewerProgress } of data.subjects) if (viewerProgress) viewerProgress.position -= 1
})
const silent: PlannedFault = { name: 'passes no event on', make: () => ({ passes: () => false }) }
const forgetfulStream: PlannedFault = { name: 'forgets since', make: () => ({ open: (asked) => askedWith(asked, { variables: {} }) }) }

export const SUBSCRIPTION_FAULTS: Record<string, readonly PlannedFault[]> = {
  'hears-reports': [
    silent,
    { name: 'loses some events', make: () => ({ passes: (event) => event?.data?.progressChanged?.subject?.id !== '3' }) },
  ],
  'hears-across-processes': [inSecond(silent)],
  'heard-is-readable': [olderLookup],
  'hears-deletions': [forgettingKind('DELETED'), forgettingKind('CLEARED')],
  'hears-settings': [
    forgettingKind('SETTINGS_CHANGED'),
    { name: 'loses pauses', make: () => ({ passes: (event) => event?.data?.progressChanged?.settings?.paused !== true }) },
  ],
  'hears-first-of-day': [
    forgettingKind('FIRST_OF_DAY'),
    changing('answers another token than the event has', /AuditReport/, (data) => (data.reportProgress.dayToken = 'other')),
    {
      name: 'repeats the event of the day',
      make: () => ({ passes: (event) => (event?.data?.progressChanged?.kind === 'FIRST_OF_DAY' ? 'twice' : true) }),
    },
  ],
  'hears-what-was-missed': [forgetfulStream],
  'hears-nobody-else': [everybodyIsOne],
  'token-of-no-event': [forgetfulStream],
}

function forgettingKind(kind: string): PlannedFault {
  return { name: `keeps ${kind} to itself`, make: () => ({ passes: (event) => event?.data?.progressChanged?.kind !== kind }) }
}
