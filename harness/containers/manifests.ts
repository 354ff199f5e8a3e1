/** Reads the manifests in ops/kubernetes as Kustomize and Kubernetes do, as far as containers need it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import type { Container } from './container.ts'
import { CHECKOUT } from './image.ts'

export type Manifest = {
  apiVersion: string
  kind: string
  metadata: { name: string; labels?: Record<string, string> }
  data?: Record<string, string>
  spec?: Record<string, unknown>
}

type Probe = { httpGet: { path: string; port: string } }
export type PodContainer = {
  name: string
  args: string[]
  ports?: { name: string; containerPort: number }[]
  envFrom?: { configMapRef: { name: string } }[]
  env?: { name: string; valueFrom: { secretKeyRef: { name: string; key: string } } }[]
  volumeMounts?: { name: string; mountPath: string }[]
  startupProbe?: Probe
  livenessProbe?: Probe
  readinessProbe?: Probe
  resources: { limits: { memory: string } }
}
export type PodSpec = {
  containers: PodContainer[]
  volumes?: { name: string; configMap?: { name: string } }[]
  terminationGracePeriodSeconds?: number
}

export const KUBERNETES = join(CHECKOUT, 'ops', 'kubernetes')

/** The resources of a kustomization, in its order, without patches. */
export function readManifests(folder: string): Manifest[] {
  const { resources } = parse(readFileSync(join(KUBERNETES, folder, 'kustomization.yaml'), 'utf8')) as { resources: string[] }
  return resources.flatMap((path) =>
    path.endsWith('.yaml')
      ? parseAllDocuments(readFileSync(join(KUBERNETES, folder, path), 'utf8')).map((each) => each.toJS() as Manifest)
      : readManifests(join(folder, path)),
  )
}

/** The specification of the pods that this resource makes, if it makes some. */
export function podOf({ spec }: Manifest): PodSpec | undefined {
  const { template } = (spec ?? {}) as { template?: { spec?: PodSpec } }
  return template?.spec
}

/** `secrets`: values by name and key, as `tidemark-mysql/password`. Throws for a reference to nothing, as a pod would not start. */
export function containerOfPod(manifest: Manifest, manifests: readonly Manifest[], secrets: Readonly<Record<string, string>>): Container {
  const pod = podOf(manifest)
  const [container] = pod?.containers ?? []
  if (pod === undefined || container === undefined) throw new Error(`${manifest.kind} ${manifest.metadata.name} has no container`)
  const configMap = (name = ''): Record<string, string> => {
    const found = manifests.find((each) => each.kind === 'ConfigMap' && each.metadata.name === name)
    if (found?.data === undefined) throw new Error(`${manifest.metadata.name} refers to the ConfigMap "${name}", which does not exist`)
    return found.data
  }
  const secret = (name: string, key: string): string => {
    const value = secrets[`${name}/${key}`]
    if (value === undefined) throw new Error(`${manifest.metadata.name} refers to the secret ${name}/${key}, which is not documented`)
    return value
  }
  const variables = (container.env ?? []).map(({ name, valueFrom: { secretKeyRef } }) => [
    name,
    secret(secretKeyRef.name, secretKeyRef.key),
  ])
  const files = (container.volumeMounts ?? []).flatMap(({ name, mountPath }) => {
    const volume = (pod.volumes ?? []).find((each) => each.name === name)
    if (volume?.configMap === undefined) return []
    return Object.entries(configMap(volume.configMap.name)).map(([file, text]) => [join(mountPath, file), text])
  })
  return {
    name: manifest.metadata.name,
    args: container.args,
    environment: {
      ...Object.assign({}, ...(container.envFrom ?? []).map(({ configMapRef }) => configMap(configMapRef.name))),
      ...Object.fromEntries(variables),
    },
    files: Object.fromEntries(files) as Record<string, string>,
    health: healthOf(container),
  }
}

function healthOf({ startupProbe, livenessProbe, readinessProbe }: PodContainer): Container['health'] {
  const probes = [startupProbe, livenessProbe, readinessProbe].flatMap((probe) => probe ?? [])
  return probes.length === 0 ? { kind: 'none' } : { kind: 'paths', paths: probes.map(({ httpGet }) => httpGet.path) }
}
