/** Contract of the record store of marks: unpublished changes in the outbox, and persisted offsets of streams. */
import { expect, it } from 'vitest'
import type { MarkChanges, MarkRecords } from '../../../subgraphs/thumbup/stores/record-store.ts'
import { apply, freshBusiness, markRow } from './mark-rows.ts'
import { later, numbered } from '../reports.ts'
import type { MarkRecordsSubject } from './record-store-subject.ts'

export function outboxContract({ store, reopen }: MarkRecordsSubject): void {
  it('changes stay in the outbox until they are dropped, oldest first, as they were returned', async () => {
    await dropAll(store())
    const business = freshBusiness()
    await store().registerSubjects([{ business, oid: 'a', owner: 'ö' }])
    const made: MarkChanges[] = []
    for (const viewer of ['1', 'ü', '3']) made.push(changesOf(await apply(store(), [markRow(business, viewer, 'a', 'LIKE', later())])))
    expect(await store().listOutbox(10)).toEqual(made)
    expect(await store().listOutbox(10)).toEqual(made)
    expect(await store().listOutbox(2)).toEqual(made.slice(0, 2))
    expect(await store().listOutbox(10, made[0]?.number)).toEqual(made.slice(1))
    expect(await store().listOutbox(1, made[0]?.number)).toEqual(made.slice(1, 2))
    expect(await store().listOutbox(10, made[2]?.number)).toEqual([])
    const numbers = made.map(({ number }) => number)
    expect([await store().listOutboxNumbers(10), await store().listOutboxNumbers(2)]).toEqual([numbers, numbers.slice(0, 2)])
    await store().dropOutbox([made[1]?.number ?? 0])
    expect(await store().listOutbox(10)).toEqual([made[0], made[2]])
    await store().dropOutbox(made.map(({ number }) => number))
    expect(await store().listOutbox(10)).toEqual([])
    await store().dropOutbox(made.map(({ number }) => number))
  })

  it('a call without changes adds nothing to the outbox', async () => {
    await dropAll(store())
    const business = freshBusiness()
    const row = markRow(business, '1', 'a', 'LIKE', later())
    await apply(store(), [row])
    await dropAll(store())
    await apply(store(), [row, markRow(business, '2', 'a', 'NONE', later())])
    await apply(store(), [row], [{ stream: `s${business}`, partition: 0, offset: 1 }])
    expect(await store().listOutbox(10)).toEqual([])
  })

  it('numbers grow, even after everything was dropped and the store reopened', async () => {
    const business = freshBusiness()
    const numbers: number[] = []
    for (const viewer of numbered(4)) {
      numbers.push(changesOf(await apply(store(), [markRow(business, viewer, 'a', 'LIKE', later())])).number)
      await dropAll(store())
      if (viewer === '2') await reopen()
    }
    expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b))
  })

  it('the outbox is there after the store was closed and reopened, and large changes are complete', async () => {
    await dropAll(store())
    const business = freshBusiness()
    const rows = numbered(8_000).map((viewer) =>
      markRow(business, `viewer-of-a-long-name-${viewer}`, `subject-${viewer}`, 'LIKE', later(1)),
    )
    const changes = changesOf(await apply(store(), rows))
    await reopen()
    const [kept, ...others] = await store().listOutbox(10)
    expect(others).toEqual([])
    expect(kept).toEqual(changes)
    expect(kept?.transitions).toHaveLength(8_000)
    await dropAll(store())
  })

  it('offsets move with their transaction, and never back', async () => {
    const stream = `marks-${freshBusiness()}`
    expect(await offsetsOf(store(), stream)).toEqual([])
    await store().applyMarks(
      [],
      [
        { stream, partition: 0, offset: 5 },
        { stream, partition: 70_000, offset: 2 ** 53 - 1 },
        { stream: `${stream}-other`, partition: 0, offset: 1 },
      ],
    )
    expect(await offsetsOf(store(), stream)).toEqual([
      [0, 5],
      [70_000, 2 ** 53 - 1],
    ])
    await apply(
      store(),
      [markRow(freshBusiness(), '1', 'a', 'LIKE', later())],
      [
        { stream, partition: 0, offset: 3 },
        { stream, partition: 1, offset: 0 },
      ],
    )
    expect(await offsetsOf(store(), stream)).toEqual([
      [0, 5],
      [1, 0],
      [70_000, 2 ** 53 - 1],
    ])
    await store().applyMarks([], [{ stream, partition: 0, offset: 6 }])
    await reopen()
    expect((await offsetsOf(store(), stream))[0]).toEqual([0, 6])
    expect(await offsetsOf(store(), `${stream}-other`)).toEqual([[0, 1]])
  })

  it('concurrent offsets end at the highest', async () => {
    const stream = `marks-${freshBusiness()}`
    await Promise.all(numbered(20).map((offset) => store().applyMarks([], [{ stream, partition: 3, offset: Number(offset) }])))
    expect(await offsetsOf(store(), stream)).toEqual([[3, 20]])
  })
}

function changesOf({ changes }: { changes: MarkChanges | undefined }): MarkChanges {
  if (changes === undefined) throw new Error('nothing was changed')
  return changes
}

async function dropAll(store: MarkRecords): Promise<void> {
  for (;;) {
    const numbers = (await store.listOutbox(100)).map(({ number }) => number)
    if (numbers.length === 0) return
    await store.dropOutbox(numbers)
  }
}

async function offsetsOf(store: MarkRecords, stream: string): Promise<[number, number][]> {
  const offsets = await store.getOffsets(stream)
  expect(offsets.every((item) => item.stream === stream)).toBe(true)
  return offsets.map(({ partition, offset }): [number, number] => [partition, offset]).toSorted((a, b) => a[0] - b[0])
}
