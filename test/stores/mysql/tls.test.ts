import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import type { Row } from '../../../stores/mysql/database.ts'
import { openDatabase } from '../../../stores/mysql/database.ts'
import { openMysqlRecordStore } from '../../../subgraphs/history/stores/mysql/record-store.ts'
import { makeServer, mariadb, type OwnServer } from './databases.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidemark-tls-'))

/** A self-signed certificate with this name. */
function certificateOf(name: string): { key: string; certificate: string; pem: string } {
  const [key, certificate] = [join(folder, `${name}.key`), join(folder, `${name}.pem`)]
  const wish = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`]
  execFileSync('openssl', ['req', ...wish, '-keyout', key, '-out', certificate], { stdio: 'ignore' })
  return { key, certificate, pem: readFileSync(certificate, 'utf8') }
}

describe.skipIf(mariadb === undefined)('MariaDB with TLS', () => {
  const ours = certificateOf('localhost')
  const foreign = certificateOf('elsewhere.example')
  const servers: OwnServer[] = []
  let url = ''
  let foreignUrl = ''

  async function begin({ key, certificate }: { key: string; certificate: string }): Promise<string> {
    const server = await makeServer([`--ssl-key=${key}`, `--ssl-cert=${certificate}`, '--require-secure-transport=ON'])
    servers.push(server)
    await server.start()
    return server.url.replace('127.0.0.1', 'localhost')
  }

  beforeAll(async () => {
    url = await begin(ours)
    foreignUrl = await begin(foreign)
  })
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.remove()))
    rmSync(folder, { recursive: true, force: true })
  })

  it('is connected to with encryption once its certificate is trusted', async () => {
    const database = openDatabase(systemClock, { url, tls: { ca: ours.pem } })
    const cipher: Row | undefined = (await database.send("SHOW STATUS LIKE 'Ssl_cipher'")).rows[0]
    expect(cipher?.[1]).toMatch(/^TLS_/)
    await database.close()
  })

  it.each([
    ['a certificate of an untrusted authority', () => ({ url, tls: true })],
    ['a trusted certificate of another name', () => ({ url: foreignUrl, tls: { ca: foreign.pem } })],
    ['no TLS where the server wants it', () => ({ url })],
    ['an address in place of the name to check', () => ({ url: url.replace('localhost', '127.0.0.1'), tls: { ca: ours.pem } })],
  ])('is refused: %s', async (_, options) => {
    await expect(openMysqlRecordStore({ ...options(), regions: 100 })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/tls/i),
    })
  })
})
