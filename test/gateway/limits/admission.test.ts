import { describe, expect, it } from 'vitest'
import { makeAdmission } from '../../../gateway/limits/admission.ts'

const OPTIONS = { pointsMax: 100, waitingMax: 200, smallMax: 10 }

/** Enters, and notes the name in `entered` when it is admitted. */
function makeCallers() {
  const admission = makeAdmission(OPTIONS)
  const entered: string[] = []
  const enter = async (caller: string, cost: number) => {
    const leave = await admission.enter(caller, cost)
    entered.push(leave === undefined ? `${caller} refused` : caller)
    return leave
  }
  return { enter, entered }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('admission', () => {
  it('admits operations that fit, and the next one when an operation has ended', async () => {
    const { enter, entered } = makeCallers()
    const leave = await enter('a', 60)
    void enter('b', 60)
    await settled()
    expect(entered).toEqual(['a'])
    leave?.()
    leave?.()
    await settled()
    expect(entered).toEqual(['a', 'b'])
  })

  it('an operation that costs more than all points runs alone', async () => {
    const { enter, entered } = makeCallers()
    const leave = await enter('a', 1_000)
    void enter('b', 60)
    await settled()
    expect(entered).toEqual(['a'])
    leave?.()
    await settled()
    expect(entered).toEqual(['a', 'b'])
  })

  it('small operations do not wait behind large ones of the same caller, even if one runs alone', async () => {
    const { enter, entered } = makeCallers()
    await enter('a', 1_000)
    void enter('a', 60)
    for (const caller of ['a', 'b']) void enter(caller, 10)
    await settled()
    expect(entered).toEqual(['a', 'a', 'b'])
  })

  it('small operations do not delay a large one', async () => {
    const { enter, entered } = makeCallers()
    for (let count = 0; count < 10; count++) void enter('small', 10)
    void enter('large', 100)
    await settled()
    expect(entered.at(-1)).toBe('large')
  })

  it('small operations do not wait behind large ones, and have their own bound', async () => {
    const { enter, entered } = makeCallers()
    await enter('a', 100)
    void enter('a', 60)
    for (let count = 0; count < 11; count++) void enter('small', 10)
    await settled()
    expect(entered).toEqual(['a', ...Array.from({ length: 10 }, () => 'small')])
  })

  it('callers take turns, even if one of them has many operations waiting', async () => {
    const { enter, entered } = makeCallers()
    const leave = await enter('flood', 100)
    const leaves: Promise<(() => void) | undefined>[] = []
    for (let count = 0; count < 4; count++) leaves.push(enter('flood', 25))
    void enter('other', 100)
    leave?.()
    for (const each of leaves) {
      await settled()
      ;(await Promise.race([each, settled().then(() => undefined)]))?.()
    }
    await settled()
    expect(entered.indexOf('other')).toBe(2)
  })

  it('refuses operations beyond half of the queue for one caller', async () => {
    const { enter, entered } = makeCallers()
    await enter('a', 100)
    for (const address of ['flood', 'flood', 'flood', 'other', 'third']) void enter(address, 50)
    await settled()
    expect(entered).toEqual(['a', 'flood refused'])
  })

  it('a full queue refuses the newest operations of the caller with the most waiting, and no others', async () => {
    const { enter, entered } = makeCallers()
    const leave = await enter('a', 100)
    for (const caller of ['flood', 'second', 'flood', 'second']) void enter(caller, 50)
    void enter('third', 60)
    await settled()
    expect(entered).toEqual(['a', 'flood refused', 'second refused'])
    void enter('flood', 60)
    void enter('fourth', 60)
    await settled()
    expect(entered).toEqual(['a', 'flood refused', 'second refused', 'flood refused', 'fourth refused'])
    leave?.()
  })
})
