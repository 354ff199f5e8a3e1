/**
 * The events of a world as readable lines. Seeds normally run without a history. A seed that fails runs again with one, and the events of
 * the affected viewer are shown.
 */
import type { ViewerId } from '../../core/domain.ts'

export type Happening = {
  at: number
  /** The affected viewer. Undefined = all viewers. */
  viewer: ViewerId | undefined
  line: string
}

export type History = {
  note(at: number, line: string, viewer?: ViewerId): void
  /** The last lines that concern `viewer`, at most `max`. */
  lines(viewer: ViewerId | undefined, max: number): string[]
}

export function makeHistory(start: number): History {
  const happenings: Happening[] = []
  return {
    note: (at, line, viewer) => void happenings.push({ at, line, viewer }),
    lines(viewer, max) {
      const concerned = happenings.filter((each) => viewer === undefined || each.viewer === undefined || each.viewer === viewer)
      const shown = concerned.slice(-max).map((each) => `${((each.at - start) / 1000).toFixed(3).padStart(9)} s  ${each.line}`)
      return concerned.length > max ? [`… ${concerned.length - max} earlier events`, ...shown] : shown
    },
  }
}

/** The first viewer that arguments of a port name. */
export function viewerIn(value: unknown): ViewerId | undefined {
  if (Array.isArray(value)) {
    for (const each of value) {
      const found = viewerIn(each)
      if (found !== undefined) return found
    }
    return undefined
  }
  if (typeof value !== 'object' || value === null) return typeof value === 'string' ? value : undefined
  if ('viewer' in value) return viewerIn(value.viewer)
  if ('key' in value) return viewerIn(value.key)
  return 'keys' in value ? viewerIn(value.keys) : undefined
}

/** Arguments and answers of ports in a short form: keys as business:oid, times in seconds since the start, versions unchanged. */
export function describe(value: unknown, start: number): string {
  if (Array.isArray(value)) return `[${value.map((each) => describe(each, start)).join(', ')}]`
  if (typeof value === 'number') return value > start / 2 && value < start * 2 ? `${((value - start) / 1000).toFixed(3)} s` : String(value)
  if (typeof value !== 'object' || value === null) return String(value)
  const fields = { ...value } as Record<string, unknown>
  const { viewer, business, oid } = fields
  let name = ''
  if (typeof viewer === 'string') name = `viewer ${viewer} `
  if (typeof oid === 'string') name += `${String(business)}:${oid} `
  const rest = Object.entries(fields)
    .filter(([field, each]) => !['viewer', 'business', 'oid', 'duration', 'code'].includes(field) && each !== undefined && each !== false)
    .map(([field, each]) => (['key', 'record', 'keys'].includes(field) ? describe(each, start) : `${field} ${describe(each, start)}`))
  return `${name}${rest.join(' ')}`.trim() || '-'
}
