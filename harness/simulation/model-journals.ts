/**
 * The journals of a machine, as documented in the port. Each belongs to one living process and survives it. A write of a dying process is
 * on the disk or is lost, and a disk does not change later. A read of the local disk takes no time.
 */
import type { JournalEntry, Journal, Journaled, Journals } from '../../writeback/journal.ts'
import { atOnce, type Gate } from './gate.ts'
import type { Life } from './life.ts'

export type JournalFaults = {
  /** Entries leave the journal when they are read, before they are applied. */
  forgetsRead?: boolean
}

/** Notified of entries that become durable, and of entries that are removed. */
export type JournalObserver = { appended(entry: JournalEntry): void; removed(entry: JournalEntry): void }

type Kept = {
  entries: Map<number, JournalEntry>
  parked: Map<number, { entry: JournalEntry; reason: string }>
  next: number
  holder: Life | undefined
}

export type Machine = ReturnType<typeof makeMachine>

export function makeMachine(faults: JournalFaults, observer: JournalObserver) {
  const journals: Kept[] = []

  function takeFree(life: Life, isWanted: (kept: Kept) => boolean): Kept | undefined {
    const found = journals.find((kept) => (kept.holder === undefined || kept.holder.dead) && isWanted(kept))
    if (found !== undefined) found.holder = life
    return found
  }

  function takeOwn(life: Life): Kept {
    const found = takeFree(life, () => true)
    if (found !== undefined) return found
    const kept: Kept = { entries: new Map(), parked: new Map(), next: 1, holder: life }
    journals.push(kept)
    return kept
  }

  function remove(kept: Kept, number: number): void {
    const entry = kept.entries.get(number)
    if (kept.entries.delete(number)) observer.removed(entry as JournalEntry)
  }

  function read(kept: Kept, after: number, limit: number): Journaled[] {
    const numbers = [...kept.entries.keys()].filter((number) => number > after).sort((a, b) => a - b)
    const read = numbers.slice(0, limit).map((number) => ({ number, entry: kept.entries.get(number) as JournalEntry }))
    if (faults.forgetsRead === true) for (const { number } of read) remove(kept, number)
    return read
  }

  return {
    faults,
    takeFree,
    takeOwn,
    read,
    remove,
    append(kept: Kept, number: number, entry: JournalEntry): void {
      kept.entries.set(number, entry)
      observer.appended(entry)
    },
    /** Entries that wait in any journal, and quarantined ones. */
    left: () => journals.flatMap(({ entries, parked }) => [...entries.values(), ...Array.from(parked.values(), ({ entry }) => entry)]),
  }
}

/** The port of one process. */
export function openModelJournals(machine: Machine, gate: Gate, life: Life): Journals {
  const own = openJournal(machine, machine.takeOwn(life), gate)
  return {
    own,
    adopt() {
      const kept = machine.takeFree(life, ({ entries }) => entries.size > 0)
      return Promise.resolve(kept === undefined ? undefined : openJournal(machine, kept, gate))
    },
    close: () => own.close(),
  }
}

function openJournal(machine: Machine, kept: Kept, gate: Gate): Journal {
  const once = <T>(name: string, args: readonly unknown[], act: () => T): Promise<T> => atOnce(gate, 'journal', name, args, act)
  /** Appends become durable in the order of the calls: an append also makes earlier ones durable. */
  const asked: { number: number; entry: JournalEntry }[] = []

  return {
    leftUntil: Math.max(0, ...kept.entries.keys()),
    append(entries) {
      const last = kept.next + entries.length - 1
      for (const entry of entries) asked.push({ number: kept.next++, entry })
      return once('append', [entries], () => {
        while (asked[0] !== undefined && asked[0].number <= last) {
          const { number, entry } = asked.shift() as (typeof asked)[number]
          machine.append(kept, number, entry)
        }
      })
    },
    list: (after, limit) => Promise.resolve(machine.read(kept, after, limit)),
    remove: (numbers) => once('remove', [numbers], () => numbers.forEach((number) => machine.remove(kept, number))),
    park: (number, reason) =>
      once('park', [number, reason], () => {
        const entry = kept.entries.get(number)
        if (kept.entries.delete(number)) kept.parked.set(number, { entry: entry as JournalEntry, reason })
      }),
    listParked: () => Promise.resolve(Array.from(kept.parked, ([number, each]) => ({ number, ...each }))),
    putBack(numbers) {
      const back = numbers.filter((number) => kept.parked.has(number))
      for (const number of back) {
        kept.entries.set(number, kept.parked.get(number)?.entry as JournalEntry)
        kept.parked.delete(number)
      }
      return Promise.resolve(back)
    },
    count: () => Promise.resolve({ waiting: kept.entries.size, parked: kept.parked.size }),
    close() {
      kept.holder = undefined
      return Promise.resolve()
    },
  }
}
