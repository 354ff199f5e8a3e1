/** A viewer's other devices receive each change once it is readable. */
import { setTimeout as wait } from 'node:timers/promises'
import { REAL_POSITION, type Audit } from '../audited.ts'
import type { Changes } from '../changes.ts'
import type { Check } from '../check.ts'
import { CheckFailed, CheckSkipped, expectEqual, expectFields, expectThat } from '../outcome.ts'
import { progressOf, type Change } from '../operations.ts'
import type { AuditViewer } from '../viewer.ts'

const MINUTE = 60_000
/** How long to wait where no event is allowed. */
const SILENCE_MS = 700
const HELLO = 'hello'
const HELLO_EVERY_MS = 200

/**
 * No event says that a subscription is open, so one subject is reported until its event arrives. `follow` gets later events of other
 * subjects and of clearings. A day may begin at any time, and settings may come first after a lost connection.
 */
async function whileFollowing(
  audit: Audit,
  listener: AuditViewer,
  writer: AuditViewer,
  follow: (next: () => Promise<Change>) => Promise<void>,
) {
  const changes = await listener.openChanges()
  try {
    await sayHello(audit, writer, changes)
    await follow(() => nextOf(audit, changes))
  } finally {
    changes.end()
  }
}

/** Returns the day tokens of the answers. */
async function sayHello(audit: Audit, writer: AuditViewer, changes: Changes): Promise<Set<string | null>> {
  const dayTokens = new Set<string | null>()
  for (const until = Date.now() + audit.eventMaxMs; Date.now() < until;) {
    dayTokens.add((await writer.report({ id: HELLO, position: REAL_POSITION, viewedAt: audit.now() - MINUTE })).dayToken)
    if ((await changes.next(HELLO_EVERY_MS)) !== undefined) return dayTokens
  }
  throw new CheckFailed(`an event within ${audit.eventMaxMs / 1_000} s after reports`, 'none')
}

/** Pauses and resumes the history until an event arrives. Unlike a report, this claims no day. */
async function sayHelloBySettings(audit: Audit, writer: AuditViewer, changes: Changes): Promise<void> {
  for (const until = Date.now() + audit.eventMaxMs; Date.now() < until;) {
    await writer.pause()
    await writer.resume()
    if ((await changes.next(HELLO_EVERY_MS)) !== undefined) return
  }
  throw new CheckFailed(`an event within ${audit.eventMaxMs / 1_000} s after a pause`, 'none')
}

const NOT_FOLLOWED: ReadonlySet<string> = new Set(['FIRST_OF_DAY', 'SETTINGS_CHANGED'])

function nextOf(audit: Audit, changes: Changes): Promise<Change> {
  return nextWith(audit, changes, ({ kind, subject }) => !NOT_FOLLOWED.has(kind) && subject?.id !== HELLO)
}

async function nextWith(audit: Audit, changes: Changes, isMeant: (change: Change) => boolean): Promise<Change> {
  for (;;) {
    const change = await changes.next(audit.eventMaxMs)
    if (change === undefined) throw new CheckFailed(`an event within ${audit.eventMaxMs / 1_000} s after a change`, 'none')
    if (isMeant(change)) return change
  }
}

async function expectHeard(audit: Audit, listener: AuditViewer, writer: AuditViewer): Promise<void> {
  await whileFollowing(audit, listener, writer, async (next) => {
    for (let round = 0; round < 5; round++) {
      const progress = (
        await writer.report({ id: String(round), position: REAL_POSITION + round, duration: 2 * REAL_POSITION, device: 'tv' })
      ).progress
      const { kind, business, subject } = await next()
      const expected = { kind: 'REPORTED', business: audit.business, progress }
      expectEqual(`the event of report ${round + 1}`, { kind, business, progress: subject && progressOf(subject) }, expected)
    }
  })
}

export const subscriptions: readonly Check[] = [
  {
    id: 'hears-reports',
    sentence: "A viewer's other devices receive each report as it is stored.",
    async check(audit) {
      const viewer = await audit.ownViewer()
      await expectHeard(audit, viewer, viewer)
    },
  },
  {
    id: 'hears-across-processes',
    sentence: 'Devices receive reports made through another process, both ways.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const elsewhere = viewer.at(audit.second())
      await expectHeard(audit, viewer, elsewhere)
      await expectHeard(audit, elsewhere, viewer)
    },
  },
  {
    id: 'heard-is-readable',
    sentence: 'When an event arrives, its change is already readable.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      await whileFollowing(audit, viewer, viewer, async (next) => {
        for (let round = 0; round < 10; round++) {
          const reported = viewer.report({ id: '1', position: REAL_POSITION + round })
          const { subject } = await next()
          expectEqual('the point lookup after the event', await viewer.lookUp('1'), subject && progressOf(subject))
          await reported
        }
      })
    },
  },
  {
    id: 'hears-deletions',
    sentence: 'Devices receive deletions and clearings.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      await whileFollowing(audit, viewer, viewer, async (next) => {
        await viewer.report({ id: '1', position: REAL_POSITION })
        await next()
        await viewer.deleteHistory(['1'])
        const { business, entity } = audit
        const subject = { __typename: entity, id: '1', business, viewerProgress: null }
        expectFields('the event of the deletion', await next(), { kind: 'DELETED', business, subject })
        await viewer.clearHistory()
        expectFields('the event of the clearing', await next(), { kind: 'CLEARED', business, subject: null })
      })
    },
  },
  {
    id: 'hears-settings',
    sentence: 'Devices receive each pause and resumption of the history.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const changes = await viewer.openChanges()
      try {
        await sayHello(audit, viewer, changes)
        for (const paused of [true, false]) {
          await (paused ? viewer.pause() : viewer.resume())
          const event = await nextWith(audit, changes, ({ kind }) => kind === 'SETTINGS_CHANGED')
          expectFields('the event of the settings', event, { business: '', subject: null, settings: { paused }, dayToken: null })
        }
      } finally {
        changes.end()
      }
    },
  },
  {
    id: 'hears-first-of-day',
    sentence: 'Devices receive the token of a day with the first report of the day, once.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const changes = await viewer.openChanges()
      try {
        await sayHelloBySettings(audit, viewer, changes)
        const { dayToken, firstOfDay } = await viewer.report({ id: '1', position: REAL_POSITION })
        if (dayToken === null) throw new CheckSkipped('needs rewards for first views, and rewards.firstView is off')
        expectEqual('firstOfDay of the first report', firstOfDay, true)
        const event = await nextWith(audit, changes, ({ kind }) => kind === 'FIRST_OF_DAY')
        expectFields('the event of the day', event, { subject: null, settings: null, dayToken })
        expectThat(
          ['', audit.business].includes(event.business),
          `the business of the event to be "${audit.business}" or empty`,
          event.business,
        )
        await viewer.report({ id: '2', position: REAL_POSITION })
        await viewer.report({ id: '3', position: REAL_POSITION })
        const later = await nextWith(audit, changes, ({ dayToken: again, subject }) => again === dayToken || subject?.id === '3')
        expectEqual('the kind of the last event', later.kind, 'REPORTED')
      } finally {
        changes.end()
      }
    },
  },
  {
    id: 'hears-what-was-missed',
    sentence: 'A device that reconnects with the token of its last event first receives the events it missed.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      let token = ''
      await whileFollowing(audit, viewer, viewer, async (next) => {
        await viewer.report({ id: 'heard', position: REAL_POSITION })
        token = (await next()).token
      })
      for (const id of ['1', '2', '3']) await viewer.report({ id, position: REAL_POSITION })
      const changes = await viewer.openChanges(token)
      try {
        const missed = [await nextOf(audit, changes), await nextOf(audit, changes), await nextOf(audit, changes)]
        expectEqual(
          'the events after the reconnect',
          missed.map((change) => change.subject?.id),
          ['1', '2', '3'],
        )
      } finally {
        changes.end()
      }
    },
  },
  {
    id: 'hears-nobody-else',
    sentence: 'A device receives no events of other viewers.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const other = await audit.ownViewer()
      const changes = await viewer.openChanges()
      try {
        const dayTokens = await sayHello(audit, viewer, changes)
        for (let round = 0; round < 3; round++) await other.report({ id: `other ${round}`, position: REAL_POSITION })
        await other.deleteHistory(['other 1'])
        await other.pause()
        await wait(SILENCE_MS)
        for (let change = await changes.next(0); change !== undefined; change = await changes.next(0)) {
          if (change.kind === 'FIRST_OF_DAY')
            expectThat(dayTokens.has(change.dayToken), "the day token of the viewer's own answers", change)
          else expectEqual('the subject of an event', change.subject?.id, HELLO)
        }
      } finally {
        changes.end()
      }
    },
  },
  {
    id: 'token-of-no-event',
    sentence: 'A `since` that is no token of an event is refused with CURSOR_INVALID.',
    async check(audit) {
      const changes = await (await audit.anyViewer()).openChanges('No such token!')
      try {
        expectEqual('the codes of the errors', await changes.errorCodes(audit.eventMaxMs), ['CURSOR_INVALID'])
      } finally {
        changes.end()
      }
    },
  },
]
