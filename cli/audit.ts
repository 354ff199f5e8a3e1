/**
 * `tidemark audit URL` checks the guarantees of history, feed existence, thumbup and the feed against a running deployment of either shape. It sends
 * GraphQL as any client does, and prints one line per check.
 *
 * Checks that wait for the write-back write first and then share the wait. A run takes some seconds and the time of one aggregation
 * (`history.flushAgeMaxMs`), or of six windows of thumbup (`thumbup.windowMs`).
 */
import { TidemarkError, type ErrorCode } from '../core/errors.ts'
import { apiUrl } from '../conformance/api-client.ts'
import { askGraphQL, codesOf } from '../conformance/answer.ts'
import { makeAudit, type AuditOptions } from '../conformance/audited.ts'
import { runChecks, type Check, type Finding } from '../conformance/check.ts'
import { identityOf, type IdentityFlags } from '../conformance/identity.ts'
import { blank, isBlank } from './process/environment.ts'
import { readSecretFile, secretText } from './process/secret-text.ts'
import { PATIENT_CHECKS, PROMPT_CHECKS } from '../conformance/suite.ts'
import type { ConflictRule } from '../core/domain.ts'

export type AuditRun = AuditOptions & {
  /** Beginnings of ids; absent: all checks. */
  only: readonly string[] | undefined
}

export type AuditFlags = Pick<IdentityFlags, 'token' | 'secret' | 'issuer' | 'audience'> & {
  second?: string
  job?: string
  /** The file of the key. */
  privateKey?: string
  business?: string
  conflict: ConflictRule
  glance: boolean
  /** Seconds. */
  wait: number
  only?: string[]
}

const AT_ONCE = 4
const EVENT_MAX_MS = 5_000
const ID_WIDTH = Math.max(...[...PROMPT_CHECKS, ...PATIENT_CHECKS].map((check) => check.id.length))

/** Throws CONFIG_INVALID, and if the deployment cannot be audited at all. */
export function auditFromFlags(url: string, flags: AuditFlags, print: (line: string) => void): Promise<boolean> {
  const { second, job, business, conflict, glance, only } = flags
  const identity = identityOf(withSecrets(flags))
  return audit(
    { url, second, job, identity, business, conflict, glance, waitMs: flags.wait * 1_000, eventMaxMs: EVENT_MAX_MS, only },
    print,
  )
}

/** The variable of the service is the last source, so that a key need not be on the command line. */
function withSecrets({ token, secret, privateKey, issuer, audience }: AuditFlags): IdentityFlags {
  const isNamed = [token, secret, privateKey].some((each) => each !== undefined)
  const fromEnvironment = process.env['TIDEMARK_JWT_SECRET']
  if (isBlank(fromEnvironment)) throw new TidemarkError('CONFIG_INVALID', blank('TIDEMARK_JWT_SECRET'))
  return {
    token: token === undefined ? undefined : secretText(token, '--token'),
    secret: secret !== undefined ? secretText(secret, '--secret') : isNamed || fromEnvironment === '' ? undefined : fromEnvironment,
    privateKey: privateKey === undefined ? undefined : readSecretFile(privateKey, '--private-key'),
    issuer,
    audience,
  }
}

/** Throws if the deployment cannot be audited at all. */
export async function audit(options: AuditRun, print: (line: string) => void): Promise<boolean> {
  const begun = performance.now()
  const prompt = chosen(PROMPT_CHECKS, options.only)
  const patient = chosen(PATIENT_CHECKS, options.only)
  if (prompt.length + patient.length === 0)
    throw new TidemarkError('CONFIG_INVALID', `no check begins with ${options.only?.join(' or ')}: leave --only out to see all of them`)
  await refuseUnfit(apiUrl(options.url))
  const audited = await makeAudit({
    ...options,
    url: apiUrl(options.url),
    second: optionalUrl(options.second),
    job: optionalUrl(options.job),
  })
  const tell = (finding: Finding) => linesOf(finding).forEach((line) => print(line))
  let findings: Finding[]
  try {
    findings = await runChecks(audited, prompt, AT_ONCE, tell)
    if (patient.length > 0 && options.waitMs > 0) print(`now waiting for the write-back, ${options.waitMs / 1_000} s at most`)
    findings.push(...(await runChecks(audited, patient, patient.length, tell)))
  } finally {
    const left = await audited.cleanUp()
    if (left > 0) print(`${left} viewers of the audit could not be cleared; their ids begin with audit-`)
  }
  const count = (kind: Finding['kind']) => findings.filter((finding) => finding.kind === kind).length
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1)
  print(`${findings.length} checks in ${seconds} s: ${count('ok')} ok, ${count('failed')} failed, ${count('skipped')} skipped`)
  return count('failed') === 0
}

function chosen(checks: readonly Check[], only: readonly string[] | undefined): readonly Check[] {
  return only === undefined ? checks : checks.filter((check) => only.some((beginning) => check.id.startsWith(beginning)))
}

/**
 * A subgraph alone answers the same operations, but has no subscriptions, and its answers to bad requests are not those of a gateway. A
 * gateway that enforces manifests answers none of the audit's operations.
 */
async function refuseUnfit(url: string): Promise<void> {
  const answer = await askGraphQL<{ _service?: { sdl?: unknown } }>(url, {}, '{ _service { sdl } }', {}).catch(() => undefined)
  if (answer !== undefined && codesOf(answer).includes('PERSISTED_QUERY_NOT_IN_LIST' satisfies ErrorCode))
    throw new TidemarkError(
      'CONFIG_INVALID',
      `${url} takes registered operations only: give the address of a gateway with another persisted.mode than enforce`,
    )
  if (typeof answer?.data?._service?.sdl !== 'string') return
  throw new TidemarkError('CONFIG_INVALID', `${url} is a subgraph alone, and the audit checks a gateway: give the address of the gateway`)
}

/** The address of a server is enough. Throws CONFIG_INVALID. */
function optionalUrl(text: string | undefined): string | undefined {
  return text === undefined ? undefined : apiUrl(text)
}

function linesOf(finding: Finding): string[] {
  const { id, sentence } = finding.check
  const line = (word: string, more = '') => `${word.padEnd(8)} ${id.padEnd(ID_WIDTH)}  ${sentence}${more}`
  const indent = ' '.repeat(9 + ID_WIDTH + 2)
  if (finding.kind === 'ok') return [line('ok')]
  if (finding.kind === 'skipped') return [line('skipped', ` (${finding.reason})`)]
  return [line('FAILED'), `${indent}expected ${finding.expected}`, `${indent}saw ${finding.seen}`]
}
