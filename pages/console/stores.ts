/** Sentences about the stores: each outage with its beginning and its effects, and each recovery. */
import { useRef } from 'preact/hooks'
import { html, timeText } from '../shared/ui.ts'
import type { State } from './answer.ts'

const RECOVERY_SHOWN_MS = 300_000

const SERVERS: Readonly<Record<string, { name: string; server: string; whileDown: string }>> = {
  hotStore: {
    name: 'hot store',
    server: 'Redis',
    whileDown:
      'Reports, marks and follows are accepted into the journal, posts are refused, reads show persisted data only, and feeds may repeat served subjects.',
  },
  log: { name: 'log', server: 'Kafka', whileDown: 'Reads and writes work as usual, and flushes are persisted directly.' },
  recordStore: {
    name: 'record store',
    server: 'MySQL',
    whileDown: 'Writes are accepted, the log holds the backlog, and reads show recent data only.',
  },
  legacyStore: { name: 'legacy store', server: 'Redis', whileDown: 'Feeds may repeat old plays of viewers who are not migrated yet.' },
}

type Outage = { store: string; since: number }
type Recovery = Outage & { until: number }

/** Follows the stores from one state to the next. */
export function useOutages(state: State | undefined): { down: readonly Outage[]; recovered: readonly Recovery[] } {
  const known = useRef(new Map<string, number>())
  const recovered = useRef<Recovery[]>([])
  if (state === undefined) return { down: [], recovered: [] }
  for (const [store, word] of Object.entries(state.ready.stores)) {
    const since = known.current.get(store)
    if (word !== 'ok') known.current.set(store, state.downSince[store] ?? since ?? state.at)
    else if (since !== undefined) {
      known.current.delete(store)
      recovered.current.push({ store, since, until: state.at })
    }
  }
  recovered.current = recovered.current.filter(({ store, until }) => state.at - until < RECOVERY_SHOWN_MS && !known.current.has(store))
  return { down: Array.from(known.current, ([store, since]) => ({ store, since })), recovered: recovered.current }
}

export function Stores({ state, down, recovered }: { state: State } & ReturnType<typeof useOutages>) {
  const { ready, process } = state
  const nameOf = (store: string): string => {
    const { name, server } = SERVERS[store] ?? { name: store, server: '' }
    return process.shape === 'distributed' || store === 'legacyStore' ? `${name} (${server})` : name
  }
  const tenants = Object.entries(ready.tenants ?? {}).flatMap(([business, stores]) =>
    Object.entries(stores).flatMap(([store, word]) => (typeof word === 'string' && word !== 'ok' ? [{ business, store, word }] : [])),
  )
  return html`
    <div role="status" aria-live="polite">
      ${down.map(
        ({ store, since }) =>
          html`<p class="banner" data-down=${store}>
            <strong>The ${nameOf(store)} is down</strong> since ${timeText(since)}. ${SERVERS[store]?.whileDown}${' '}
            ${ready.ok ? 'Nothing acknowledged is lost.' : 'Nothing can be read, so this process is not ready.'}
          </p>`,
      )}
      ${tenants.map(
        ({ business, store, word }) =>
          html`<p class="banner">
            <strong>The ${nameOf(store)} of ${business} is down</strong> (${word}). Other businesses are not affected.
          </p>`,
      )}
      ${ready.writes === false ? html`<p class="banner"><strong>The stores are full.</strong> Writes are refused with STORE_FULL. Reads work.</p>` : null}
      ${recovered.map(
        ({ store, since, until }) =>
          html`<p class="banner" data-recovered=${store}>
            <span class="good">The ${nameOf(store)} answers again</span> since ${timeText(until)}. It was down for
            ${secondsText(until - since)}.
          </p>`,
      )}
    </div>
    <p data-process>
      ${down.length === 0 && ready.ok ? html`<strong class="good">All stores answer.</strong>${' '}` : null}${processText(process)}${' '}
      ${ready.warnings === undefined ? null : html`<strong class="bad">Findings about the servers: ${ready.warnings.join(', ')}.</strong> Run <code>tidemark doctor</code>.`}
    </p>
  `
}

function processText({ id, mode, shape, workers, upMs }: State['process']): string {
  const stores = shape === 'embedded' ? 'the embedded stores' : 'Redis, Kafka and MySQL'
  return `Process ${id}, ${mode}, on ${stores}${workers > 1 ? `, ${workers} workers` : ''}, up for ${secondsText(upMs)}.`
}

function secondsText(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  if (seconds < 120) return `${seconds} s`
  return seconds < 7_200 ? `${Math.round(seconds / 60)} minutes` : `${Math.round(seconds / 3_600)} hours`
}
