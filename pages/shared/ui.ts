/** Shared by all pages: templates, sentences about failures, times as text. */
import { h } from 'preact'
import htm from 'htm'

export const html = htm.bind(h)

const STORES: Readonly<Record<string, string>> = {
  hotStore: 'the store of recent data',
  recordStore: 'the database',
  legacyStore: 'the store that is being replaced',
  log: 'the log',
}

/** A sentence about the stores that were not available for an answer. */
export function degradedText(stores: readonly string[]): string {
  const names = stores.map((store) => STORES[store] ?? store)
  return `Some data may be missing or old, because ${names.join(' and ')} ${names.length === 1 ? 'does' : 'do'} not answer. Nothing that was saved is lost, and this page recovers by itself.`
}

/** Minutes and seconds of a position in milliseconds. */
export function clockText(ms: number): string {
  const seconds = Math.floor(ms / 1_000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

/** Hours, minutes and seconds of a time, in the time zone of the browser. */
export function timeText(time: number): string {
  return new Date(time).toLocaleTimeString('en-GB')
}

/** Such as "3 minutes ago". */
export function agoText(time: number, now: number): string {
  const seconds = Math.round((time - now) / 1_000)
  const format = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
  if (Math.abs(seconds) < 60) return format.format(seconds, 'second')
  if (Math.abs(seconds) < 3_600) return format.format(Math.round(seconds / 60), 'minute')
  if (Math.abs(seconds) < 86_400) return format.format(Math.round(seconds / 3_600), 'hour')
  return format.format(Math.round(seconds / 86_400), 'day')
}
