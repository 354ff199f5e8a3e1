/**
 * Our four subgraphs, each alone in a process of production, and the example partner's subgraph. Every gateway of the benchmark stands
 * before the same five processes. Clients have tokens signed by a key of this run. The subgraphs publish no authorization directives, for a
 * gateway that composes by itself.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SignJWT, exportJWK, exportSPKI, generateKeyPair } from 'jose'
import { makeConfig } from '../../../config/config.ts'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { startService, type Service } from '../../../harness/deployment/service.ts'
import { ourSubgraphs } from '../../../subgraphs/catalog.ts'
import { publishedSdl } from '../../../subgraphs/published-sdl.ts'
import { SUBGRAPH_NAMES } from '../../../subgraphs/names.ts'

const EXAMPLE = join(import.meta.dirname, '..', '..', '..', 'examples', 'partner-subgraph')
const PARTNER = 'catalog'

export type Subgraphs = {
  readonly folder: string
  readonly identitySecret: string
  /** By whether the SDL has authorization directives. */
  readonly supergraph: Readonly<Record<'with' | 'without', string>>
  readonly addresses: readonly { readonly name: string; readonly url: string }[]
  /** The settings of a Tidemark process that accepts the tokens. */
  readonly settings: { readonly server: object; readonly auth: object }
  token(viewer: string, scope?: string): Promise<string>
  stop(): Promise<void>
}

export async function startSubgraphs(): Promise<Subgraphs> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-routers-'))
  const ends: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
  try {
    const { publicKey, privateKey } = await generateKeyPair('ES256')
    const kid = 'bench'
    writeFileSync(join(folder, 'jwks.json'), JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256', use: 'sig', kid }] }))
    const identitySecret = 'the secret of gateway and subgraphs, 32+'
    const settings = {
      server: { mode: 'production' },
      auth: { publicKey: await exportSPKI(publicKey), identity: { secret: identitySecret } },
    }
    const partner = await startExample()
    ends.push(partner.stop)
    const addresses = [{ name: PARTNER, url: partner.url }]
    for (const name of SUBGRAPH_NAMES) {
      const own = join(folder, name)
      mkdirSync(own)
      const service: Service = await startService({
        folder: own,
        settings,
        command: ['subgraph', name, '--without-authorization-directives'],
      })
      ends.push(() => service.stop())
      addresses.push({ name, url: service.url })
    }
    const supergraph = {
      with: writeSupergraph(join(folder, 'with.graphql'), addresses, true),
      without: writeSupergraph(join(folder, 'without.graphql'), addresses, false),
    }
    return {
      folder,
      identitySecret,
      supergraph,
      addresses,
      settings,
      token: (viewer, scope = '') =>
        new SignJWT({ scope }).setProtectedHeader({ alg: 'ES256', kid }).setSubject(viewer).setExpirationTime('10m').sign(privateKey),
      stop: () => endAll(ends),
    }
  } catch (error) {
    await endAll(ends)
    throw error
  }
}

/** The supergraph as `tidemark compose` writes it. Returns its path. */
function writeSupergraph(path: string, addresses: Subgraphs['addresses'], authorizationDirectives: boolean): string {
  const urlOf = (name: string) => addresses.find((each) => each.name === name)?.url ?? ''
  const ours = ourSubgraphs(makeConfig([])).map((each) => ({ name: each.name, sdl: publishedSdl(each, { authorizationDirectives }) }))
  const all = [...ours, { name: PARTNER, sdl: readFileSync(join(EXAMPLE, 'schema.graphql'), 'utf8') }]
  writeFileSync(path, composeSupergraph(all.map((each) => ({ ...each, url: urlOf(each.name) }))))
  return path
}

/** The packages of the example are those of the repository, in the same versions. */
async function startExample(): Promise<{ url: string; stop(): Promise<unknown> }> {
  const env = { ...process.env, PORT: '0' }
  const child = spawn(process.execPath, ['server.js'], { cwd: EXAMPLE, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const [text] = (await once(child.stdout, 'data')) as [Buffer]
  const [url = ''] = /http:\S+/.exec(String(text)) ?? []
  return {
    url,
    stop() {
      child.kill('SIGTERM')
      return exited
    },
  }
}

async function endAll(ends: (() => unknown)[]): Promise<void> {
  for (const end of ends.splice(0).reverse()) await end()
}
