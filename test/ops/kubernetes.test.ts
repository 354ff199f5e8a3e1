/** The manifests as files: their form, and how they belong together. containers.long.test.ts runs them. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { describe, expect, it } from 'vitest'
import { fromEnvironment } from '../../cli/process/environment.ts'
import { makeConfig } from '../../config/config.ts'
import { CHECKOUT } from '../../harness/containers/image.ts'
import { KUBERNETES, podOf, readManifests, type Manifest } from '../../harness/containers/manifests.ts'
import { findProgram } from '../../scripts/servers/packages.ts'

const roles = readManifests('roles')
const config = readManifests('config')
const all = [...config, ...readManifests('migrate'), ...roles]
const ofKind = (kind: string): Manifest[] => roles.filter((each) => each.kind === kind)
const workloads = [...ofKind('StatefulSet'), ...ofKind('Deployment')]
const labelsOf = ({ spec }: Manifest) => (spec as { selector: { matchLabels: object } }).selector.matchLabels
const dataOf = (name: string): Record<string, string> => config.find(({ metadata }) => metadata.name === name)?.data ?? {}
const settings = makeConfig([
  { name: 'settings.yaml', values: parse(dataOf('tidemark-settings')['tidemark.yaml'] ?? '') },
  fromEnvironment(dataOf('tidemark-servers')),
])

/** The module of kubernetes-types for each apiVersion. */
const MODULES: Record<string, string> = {
  v1: 'core/v1',
  'apps/v1': 'apps/v1',
  'batch/v1': 'batch/v1',
  'policy/v1': 'policy/v1',
  'autoscaling/v2': 'autoscaling/v2',
  'networking.k8s.io/v1': 'networking/v1',
}

/** The compiler knows the fields of each kind, which of them are required, and their types. */
function formMistakes(manifests: readonly Manifest[]): string[] {
  const cache = join(CHECKOUT, 'node_modules', '.cache')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'manifests-'))
  const file = join(folder, 'manifests.ts')
  const lines = manifests.map((each, at) => {
    const module = MODULES[each.apiVersion] ?? 'unknown'
    return `const m${at}: import('kubernetes-types/${module}').${each.kind} & { apiVersion: '${each.apiVersion}' } = ${JSON.stringify(each)}`
  })
  writeFileSync(file, `${lines.join('\n')}\nexport {}\n`)
  try {
    execFileSync(
      process.execPath,
      [
        join(CHECKOUT, 'node_modules', 'typescript', 'bin', 'tsc'),
        '--ignoreConfig',
        '--noEmit',
        '--strict',
        '--module',
        'preserve',
        '--types',
        'node',
        file,
      ],
      { encoding: 'utf8' },
    )
    return []
  } catch (error) {
    return (error as { stdout: string }).stdout.trim().split('\n')
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe('the manifests', () => {
  it('have the fields and types of Kubernetes, and a wrong one is found', () => {
    const [gateway] = structuredClone(ofKind('StatefulSet'))
    const wrong = [{ serviceName: 7 }, { replica: 3 }].map((spec) => ({ ...gateway, spec: { ...gateway?.spec, ...spec } }) as Manifest)
    const mistakes = formMistakes([...all, ...wrong])
    expect(mistakes).toEqual([
      expect.stringContaining(`manifests.ts(${all.length + 1},`),
      expect.stringMatching(/replica.* does not exist/),
    ])
  })

  it('are all listed in a kustomization', () => {
    for (const folder of ['config', 'migrate', 'roles']) {
      const { resources } = parse(readFileSync(join(KUBERNETES, folder, 'kustomization.yaml'), 'utf8')) as { resources: string[] }
      expect(new Set([...resources, 'kustomization.yaml']), folder).toEqual(new Set(readdirSync(join(KUBERNETES, folder))))
    }
  })

  it('have one workload per role, each with a budget and an autoscaler', () => {
    expect(workloads.map((each) => podOf(each)?.containers[0]?.args.join(' '))).toEqual([
      'gateway',
      'job history',
      'job thumbup',
      'job feed-existence',
      'job feed',
    ])
    for (const workload of workloads) {
      const { name } = workload.metadata
      const target = { apiVersion: workload.apiVersion, kind: workload.kind, name }
      expect(
        ofKind('HorizontalPodAutoscaler').filter(({ spec }) => JSON.stringify(spec?.['scaleTargetRef']) === JSON.stringify(target)),
        name,
      ).toHaveLength(1)
      expect(
        ofKind('PodDisruptionBudget').filter((each) => JSON.stringify(labelsOf(each)) === JSON.stringify(labelsOf(workload))),
        name,
      ).toHaveLength(1)
    }
  })

  it('scale jobs by backlogs that they report, up to one process per partition', () => {
    const known = readFileSync(join(CHECKOUT, 'docs', 'reference', 'metrics.md'), 'utf8')
    const adapter = readFileSync(join(KUBERNETES, 'prometheus-adapter', 'values.yaml'), 'utf8')
    const series = new RegExp(/__name__=~"([^"]*)"/.exec(adapter)?.[1] ?? 'none')
    const jobs = ofKind('HorizontalPodAutoscaler').filter(({ metadata }) => metadata.name.includes('job'))
    expect(jobs).toHaveLength(4)
    for (const { metadata, spec } of jobs) {
      const job = metadata.name.replace('tidemark-job-', '')
      const { metrics } = spec as { metrics: { external?: { metric: { name: string } } }[] }
      const [metric = ''] = metrics.flatMap(({ external }) => external?.metric.name ?? [])
      expect(known, job).toMatch(new RegExp(`\`${metric}\`.*\`job ${job}\``))
      expect(metric).toMatch(series)
      expect(spec?.['maxReplicas']).toBe(settings.stores.kafka?.partitions)
    }
  })

  it('let each role end its drain, and leave its service before', () => {
    const { drainMaxMs, drainDelayMs } = settings.server
    for (const each of workloads) expect((podOf(each)?.terminationGracePeriodSeconds ?? 0) * 1_000).toBeGreaterThan(drainMaxMs)
    expect(drainDelayMs).toBeGreaterThan(2 * 2_000)
  })

  it('give the secret of tokens to gateways alone', () => {
    const holders = all.filter((each) => JSON.stringify(each).includes('tidemark-tokens')).map(({ metadata }) => metadata.name)
    expect(holders).toEqual(['tidemark-gateway'])
  })

  it.skipIf(findProgram('kubectl') === undefined)('are put together by kubectl, in one namespace and with one image', () => {
    for (const [folder, containers] of [
      ['example', 5],
      [join('example', 'migrate'), 1],
    ] as const) {
      const rendered = execFileSync('kubectl', ['kustomize', join(KUBERNETES, folder)], { encoding: 'utf8' })
      expect(rendered.match(/image: registry\.example\.com\/tidemark:/g), folder).toHaveLength(containers)
      expect(rendered.match(/^ {2}namespace: tidemark$/gm)?.length, folder).toBe(rendered.match(/^kind: /gm)?.length)
      expect(rendered).toContain('kafka-1.example.internal:9092')
    }
  })
})
