/** The alerts that a drill accepts during a fault. */
import { expect, test } from 'vitest'
import { furtherAlerts } from '../../harness/alerts/drill.ts'
import { ALERTS } from '../../ops/alerts/all.ts'
import { faultsWithoutParts } from './faults-without-parts.ts'

/** No part of a site runs here: the faults are listed, not injected. */
const FAULTS = Object.values(faultsWithoutParts())

test('an alert besides those of a fault is unexpected, unless it is a companion or was there before the fault', () => {
  const fault = { alerts: ['TidemarkStoreDown'], companions: { TidemarkLogBehind: 'jobs need the store' } }
  const seen = new Set(['TidemarkStoreDown', 'TidemarkLogBehind', 'TidemarkCountsDrift', 'TidemarkProcessDown'])
  expect(furtherAlerts(fault, seen, new Set(['TidemarkProcessDown']))).toEqual({
    others: ['TidemarkLogBehind', 'TidemarkCountsDrift'],
    unexpected: ['TidemarkCountsDrift'],
  })
})

test('an alert is unexpected if its fault lists no companions', () => {
  const { unexpected } = furtherAlerts({ alerts: [] }, new Set(['TidemarkStoreSlow', 'toString']), new Set())
  expect(unexpected).toEqual(['TidemarkStoreSlow', 'toString'])
})

test('the alerts and companions of all faults are alerts of the rules', () => {
  const known = new Set<string>(ALERTS.map(({ name }) => name))
  for (const { name, alerts, companions = {} } of FAULTS)
    for (const alert of [...alerts, ...Object.keys(companions)]) expect(known, `${name}: ${alert}`).toContain(alert)
})
