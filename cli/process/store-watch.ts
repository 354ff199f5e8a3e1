/**
 * Runs the checks of `tidemark doctor` at the start of each process, and then every minute. A Redis that evicts, a replica, or a database
 * without flushing loses acknowledged writes, and no other part would notice.
 *
 * - The log reports a finding when it appears and when it is gone. A server that does not answer keeps its last findings: breakers report
 *   outages.
 * - `/health/ready` names findings as warnings. They never make a process unready: all processes share the servers, and a site with a
 *   doubtful server is better than no site.
 * - In production, a `wrong` finding about the common servers refuses the start. Findings in `stores.allow` neither refuse the start nor
 *   cause warnings. Servers of a tenant, copies of counts, the cache, and servers that do not answer refuse no start.
 */
import { Gauge, type Registry } from '@prometheus-io/client'
import type { Logger } from 'pino'
import { sleep, systemClock, type Clock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import { TidemarkError } from '../../core/errors.ts'
import { startWorker } from '../../core/worker.ts'
import { cacheExaminations } from '../stores/examine-cache.ts'
import type { Examination, Finding } from '../stores/findings.ts'

export type StoreWatch = {
  /** Names of findings; a tenant's findings include the tenant's name. */
  warnings(): readonly string[]
  /** Does not wait for running checks. */
  stop(): void
}

export type StoreWatchOptions = {
  production: boolean
  /** Names of findings that the operator accepts. */
  allow: readonly string[]
  /** Another process of this deployment checked the stores before this process started, and reports their findings. Default false. */
  isQuiet?: boolean
  /** Default 60000. */
  everyMs?: number
}

/** A start waits at most this long for one server. */
const FIRST_LOOK_MAX_MS = 5_000
const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** The embedded stores have no servers to check, unless the cache has nodes. Rejects with CONFIG_INVALID; see above. */
export async function watchStores(
  config: Config,
  log: Logger,
  registry: Registry,
  options: { isQuiet?: boolean } = {},
): Promise<StoreWatch> {
  const examinations =
    config.stores.redis === undefined
      ? cacheExaminations(config, systemClock)
      : (await import('../stores/examine.ts')).examinationsOf(config, systemClock, silent)
  if (examinations.length === 0) return { warnings: () => [], stop() {} }
  const { server, stores } = config
  return startStoreWatch(
    examinations,
    { ...options, production: server.mode === 'production', allow: stores.allow },
    systemClock,
    log,
    registry,
  )
}

export async function startStoreWatch(
  examinations: readonly Examination[],
  options: StoreWatchOptions,
  clock: Clock,
  log: Pick<Logger, 'error' | 'warn' | 'info'>,
  registry: Registry,
): Promise<StoreWatch> {
  const { production, allow, isQuiet = false, everyMs = 60_000 } = options
  const found = new Map<Examination, readonly Finding[]>(examinations.map((each) => [each, []]))
  const isAllowed = ({ name }: Finding): boolean => name !== undefined && allow.includes(name)

  async function ask(examination: Examination): Promise<void> {
    const findings = (await examination.examine()).filter(({ level }) => level !== 'good')
    if (findings.some(({ name }) => name === 'unreachable')) return
    const before = found.get(examination) ?? []
    found.set(examination, findings)
    if (!isQuiet) tellChange(examination, before, findings)
  }

  function tellChange({ store, business }: Examination, before: readonly Finding[], now: readonly Finding[]): void {
    const had = new Set(before.map(({ name }) => name))
    const has = new Set(now.map(({ name }) => name))
    const where = { store, ...(business !== undefined && { business }) }
    for (const name of has) {
      if (had.has(name)) continue
      const told = now.filter((finding) => finding.name === name && !isAllowed(finding) && (production || finding.level === 'wrong'))
      if (told.length === 0) continue
      const fields = { ...where, finding: name, reason: told.map(({ sentence }) => sentence).join('; ') }
      if (store === 'cache') log.warn(fields, 'a node of the cache may make pages slower')
      else if (told.some(({ level }) => level === 'wrong')) log.error(fields, 'a server of the stores may lose data or fail')
      else log.warn(fields, 'a server of the stores may lose data')
    }
    for (const name of had) if (!has.has(name)) log.info({ ...where, finding: name }, 'a finding about the stores is gone')
  }

  const askAll = () => Promise.all(examinations.map((each) => ask(each).catch(failed)))
  const failed = (err: unknown): void => log.error({ err }, 'the check of the stores failed')

  new Gauge({
    name: 'tidemark_store_findings',
    help: 'Findings about the servers of the stores that may lose data or fail, by name; `tidemark doctor` explains them.',
    labelNames: ['store', 'business', 'finding', 'level'],
    aggregator: 'max',
    registers: [registry],
    collect() {
      this.reset()
      for (const finding of [...found.values()].flat()) {
        const { store, business = '', name = '', level } = finding
        this.set({ store, business, finding: name, level: isAllowed(finding) ? 'allowed' : level }, 1)
      }
    },
  })

  const firstLook = Promise.all(examinations.map((each) => Promise.race([ask(each).catch(failed), sleep(clock, FIRST_LOOK_MAX_MS)])))
  if (!isQuiet) await firstLook
  const refused = [...found.values()].flat().filter((finding) => refusesStart(finding) && !isAllowed(finding))
  if (production && !isQuiet && refused.length > 0) throw refusal(refused)

  const rounds = startWorker(clock, everyMs, askAll, failed)
  return {
    warnings: () => [...new Set([...found.values()].flat().flatMap((finding) => (isAllowed(finding) ? [] : [nameOf(finding)])))],
    stop: () => void rounds.stop(),
  }
}

function nameOf({ business, name = 'unfit' }: Finding): string {
  return business === undefined ? name : `${business}: ${name}`
}

function refusesStart({ level, business, isCopy = false }: Finding): boolean {
  return level === 'wrong' && business === undefined && !isCopy
}

function refusal(findings: readonly Finding[]): TidemarkError {
  const sentences = findings.map(({ store, name, sentence }) => `${store}: ${sentence}; to start anyway, add ${name} to stores.allow`)
  return new TidemarkError('CONFIG_INVALID', sentences.join('\n'))
}
