/** Removes and counts keys and members of one viewer on Redis, for `core/erasure/traces.ts`. All keys of a call have one hash tag. */
import type { Connection } from './connection.ts'

const MEMBERS_PER_SCAN = 1_000

export async function countKeys(connection: Connection, keys: readonly string[]): Promise<number> {
  const [found] = await connection.send([{ name: 'exists', args: [...keys] }])
  return Number(found)
}

/** One command, so that all go together. */
export async function unlinkKeys(connection: Connection, keys: readonly string[]): Promise<number> {
  const [removed] = await connection.send([{ name: 'unlink', args: [...keys] }])
  return Number(removed)
}

/** The matching members of a sorted set or a set. A scan in steps finds every member that is there from its beginning to its end. */
export async function findMembers(
  connection: Connection,
  command: 'zscan' | 'sscan',
  key: string,
  isOf: (member: Buffer) => boolean,
): Promise<Buffer[]> {
  const found = new Map<string, Buffer>()
  const width = command === 'zscan' ? 2 : 1
  for (let cursor = '0'; ;) {
    const [answer] = await connection.send([{ name: command, args: [key, cursor, 'COUNT', MEMBERS_PER_SCAN] }])
    const [next, entries] = answer as [Buffer, Buffer[]]
    for (let at = 0; at < entries.length; at += width) {
      const member = entries[at] as Buffer
      if (isOf(member)) found.set(member.toString('latin1'), member)
    }
    cursor = String(next)
    if (cursor === '0') return [...found.values()]
  }
}

/** Returns the number of removed members. */
export async function removeMembers(
  connection: Connection,
  command: 'zrem' | 'srem',
  key: string,
  members: readonly Buffer[],
): Promise<number> {
  let removed = 0
  for (let at = 0; at < members.length; at += MEMBERS_PER_SCAN) {
    const [some] = await connection.send([{ name: command, args: [key, ...members.slice(at, at + MEMBERS_PER_SCAN)] }])
    removed += Number(some)
  }
  return removed
}

/** True if the member begins with these bytes. */
export function beginsWith(beginning: Buffer): (member: Buffer) => boolean {
  return (member) => member.length >= beginning.length && member.subarray(0, beginning.length).equals(beginning)
}
