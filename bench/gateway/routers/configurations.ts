/**
 * The configurations of other gateways that the benchmark runs. Their files are in bench/gateway/peers/routers. docs/gateway/your-router.md
 * shows the same files.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startProcess, type Measured } from '../remote/process.ts'
import type { Subgraphs } from './subgraphs.ts'

export const PEERS = join(import.meta.dirname, '..', 'peers')
const FILES = join(PEERS, 'routers')

export type Configuration = {
  readonly gateway: string
  /** The way in which the viewer reaches our subgraphs. */
  readonly identity: 'token' | 'signed'
  readonly directives: 'with' | 'without'
  /** Whether a partner should use it: it must answer every operation as our gateway does. */
  readonly recommended: boolean
  start(subgraphs: Subgraphs, port: number): Promise<Measured>
}

/** `hiveRouter`: the path of the binary. */
export function configurations(hiveRouter: string | undefined): Configuration[] {
  return [
    script('@apollo/gateway', 'apollo-token.mjs', 'token', 'with', false),
    script('@apollo/gateway', 'apollo-token.mjs', 'token', 'without', true),
    script('@apollo/gateway composing', 'apollo-composing.mjs', 'token', 'without', true),
    script('@apollo/gateway', 'apollo-signed.mjs', 'signed', 'without', true),
    ...(['js', 'native'] as const).flatMap((planner) => [
      script(`Hive gateway, ${planner} planner`, 'hive-token.mjs', 'token', 'with', true, { PLANNER: planner }),
      script(`Hive gateway, ${planner} planner`, 'hive-token.mjs', 'token', 'without', true, { PLANNER: planner }),
      script(`Hive gateway, ${planner} planner`, 'hive-signed.mjs', 'signed', 'without', true, { PLANNER: planner }),
    ]),
    ...(hiveRouter === undefined
      ? []
      : [
          router(hiveRouter, 'Hive Router', 'hive-router.yaml', 'with', true),
          router(hiveRouter, 'Hive Router with jwt', 'hive-router-jwt.yaml', 'with', true),
          router(hiveRouter, 'Hive Router', 'hive-router.yaml', 'without', true),
        ]),
  ]
}

/** Throws with the remedy if the gateways in JavaScript are not installed. */
export function requirePeers(): void {
  if (!existsSync(join(PEERS, 'node_modules', '@apollo', 'gateway')))
    throw new Error('the other gateways are not installed: run "npm ci --ignore-scripts" in bench/gateway/peers')
}

function script(
  gateway: string,
  file: string,
  identity: Configuration['identity'],
  directives: Configuration['directives'],
  recommended: boolean,
  more: Readonly<Record<string, string>> = {},
): Configuration {
  return {
    gateway,
    identity,
    directives,
    recommended,
    start(subgraphs, port) {
      const env = {
        SUPERGRAPH: subgraphs.supergraph[directives],
        SUBGRAPHS: JSON.stringify(subgraphs.addresses),
        PORT: String(port),
        TIDEMARK_IDENTITY_SECRET: subgraphs.identitySecret,
        ...more,
      }
      return startProcess({ file: process.execPath, args: [join(FILES, file)], cwd: PEERS, env }, port)
    },
  }
}

/** Only the port differs from the file. The other names in it are those of the folder. */
function router(
  binary: string,
  gateway: string,
  file: string,
  directives: Configuration['directives'],
  recommended: boolean,
): Configuration {
  return {
    gateway,
    identity: 'token',
    directives,
    recommended,
    start(subgraphs, port) {
      const folder = join(subgraphs.folder, `${file}-${directives}`)
      mkdirSync(folder)
      copyFileSync(subgraphs.supergraph[directives], join(folder, 'supergraph.graphql'))
      copyFileSync(join(subgraphs.folder, 'jwks.json'), join(folder, 'jwks.json'))
      const config = join(folder, 'router.config.yaml')
      writeFileSync(config, readFileSync(join(FILES, file), 'utf8').replace('port: 4000', `port: ${port}`))
      return startProcess({ file: binary, args: [], cwd: folder, env: { ROUTER_CONFIG_FILE_PATH: config } }, port)
    },
  }
}
