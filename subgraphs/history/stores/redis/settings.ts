/** A viewer's settings, decoded from their hash: `paused` (0 or 1), `version`, and `c` + business → clearedAt. */
import type { BusinessNumber, ViewerSettings } from '../../../../core/domain.ts'

/** Takes the reply of HGETALL: an object if ioredis knows the command, fields and values in turn if a script ran it. */
export function decodeSettings(reply: unknown): ViewerSettings {
  const fields = Array.isArray(reply) ? pairs(reply) : Object.entries(reply as Record<string, Buffer>)
  const clearedAt: Record<BusinessNumber, number> = {}
  let paused = false
  let version = 0
  for (const [name, value] of fields) {
    const number = Number(String(value))
    if (name === 'paused') paused = number === 1
    else if (name === 'version') version = number
    else clearedAt[Number(name.slice(1))] = number
  }
  return { paused, clearedAt, version }
}

function pairs(reply: readonly unknown[]): [string, unknown][] {
  return Array.from({ length: reply.length / 2 }, (_, at) => [String(reply[2 * at]), reply[2 * at + 1]])
}
