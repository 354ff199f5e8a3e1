/**
 * Checks the certificates of the configuration at start. Node accepts any text as an authority and then trusts no server, so every
 * connection would fail with a misleading message.
 */
import { X509Certificate, createPrivateKey } from 'node:crypto'
import type { Config } from '../../config/config.ts'

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

type Tls = { ca?: string | undefined; cert?: string | undefined; key?: string | undefined }
type Server = { tls?: Tls | undefined }
type Named = [setting: string, server: Server | undefined]
type Stores = { redis?: (Server & { second?: Server | undefined }) | undefined; kafka?: Server | undefined; mysql?: Server | undefined }

/** One sentence per mistake. */
export function tlsMistakesOf({ stores, businesses, existence: { legacy } }: Config): string[] {
  const servers: Named[] = [
    ...serversOf(stores, 'stores'),
    ['existence.legacy', legacy],
    ...businesses.flatMap(({ name, thumbup }) => serversOf(thumbup.stores ?? {}, `businesses: ${name}: thumbup.stores`)),
  ]
  return servers.flatMap(([section, server]) => tlsMistakes(server?.tls ?? {}, `${section}.tls`))
}

function serversOf({ redis, kafka, mysql }: Stores, under: string): Named[] {
  return [
    [`${under}.redis`, redis],
    [`${under}.redis.second`, redis?.second],
    [`${under}.kafka`, kafka],
    [`${under}.mysql`, mysql],
  ]
}

function tlsMistakes({ ca, cert, key }: Tls, path: string): string[] {
  return [
    ...(ca === undefined || holdsCertificates(ca) ? [] : [`${path}.ca: ${NO_CERTIFICATE}`]),
    ...(cert === undefined || holdsCertificates(cert) ? [] : [`${path}.cert: ${NO_CERTIFICATE}`]),
    ...(key === undefined || isPrivateKey(key) ? [] : [`${path}.key: this is not a private key: give one in PEM form, or {file: path}`]),
    ...((cert === undefined) === (key === undefined) ? [] : [`${path}: a client certificate and its key belong together: give both`]),
  ]
}

const NO_CERTIFICATE = 'this is not a certificate: give one in PEM form (-----BEGIN CERTIFICATE-----), or {file: path}'

function holdsCertificates(text: string): boolean {
  const found = text.match(CERTIFICATE)
  return found !== null && found.every((each) => doesParse(() => new X509Certificate(each)))
}

function isPrivateKey(text: string): boolean {
  return doesParse(() => createPrivateKey(text))
}

function doesParse(parse: () => unknown): boolean {
  try {
    parse()
    return true
  } catch {
    return false
  }
}
