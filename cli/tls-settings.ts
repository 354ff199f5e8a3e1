/**
 * Are the certificates of the configuration such? Node takes any text for an authority and trusts nobody then, so that every
 * connection fails with words about something else. Looked at once, at start.
 */
import { X509Certificate, createPrivateKey } from 'node:crypto'
import type { Config } from '../core/config.ts'
import { TidemarkError } from '../core/errors.ts'

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

/** Throws CONFIG_INVALID with one sentence per mistake. */
export function checkTls({ stores: { redis, kafka, mysql }, existence: { legacy } }: Config): void {
  const servers = { 'stores.redis': redis, 'stores.kafka': kafka, 'stores.mysql': mysql, 'existence.legacy': legacy }
  const mistakes = Object.entries(servers).flatMap(([section, settings]) => {
    const { ca, cert, key } = settings?.tls ?? {}
    const path = `${section}.tls`
    return [
      ...(ca === undefined || holdsCertificates(ca) ? [] : [`${path}.ca: ${NO_CERTIFICATE}`]),
      ...(cert === undefined || holdsCertificates(cert) ? [] : [`${path}.cert: ${NO_CERTIFICATE}`]),
      ...(key === undefined || isPrivateKey(key) ? [] : [`${path}.key: this is no private key: give one in PEM form, or {file: path}`]),
      ...((cert === undefined) === (key === undefined) ? [] : [`${path}: a client certificate and its key belong together: give both`]),
    ]
  })
  if (mistakes.length > 0) throw new TidemarkError('CONFIG_INVALID', mistakes.join('\n'))
}

const NO_CERTIFICATE = 'this is no certificate: give one in PEM form (-----BEGIN CERTIFICATE-----), or {file: path}'

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
