/**
 * Signs the header with which a gateway names the viewer to one of Tidemark's subgraphs. The subgraph has the same key in
 * `auth.identity.secret` (TIDEMARK_IDENTITY_SECRET).
 */
import { createHmac } from 'node:crypto'

const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** The header is valid for this subgraph only, for a minute. `scopes`: such as "operator"; none for most viewers. */
export function identityHeader(subgraph, viewer, scopes = '') {
  const now = Math.floor(Date.now() / 1_000)
  const claims = { iss: 'tidemark', aud: subgraph, sub: viewer, scope: scopes, iat: now, exp: now + 60 }
  const text = `${encode({ alg: 'HS256', typ: 'tidemark-identity+jwt' })}.${encode(claims)}`
  const signature = createHmac('sha256', process.env.TIDEMARK_IDENTITY_SECRET).update(text).digest('base64url')
  return { 'tidemark-identity': `${text}.${signature}` }
}
