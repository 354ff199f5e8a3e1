/** What the gateway can be told: who may ask, how much, in which operations, of which remote subgraphs. A part of config.ts. */
import { z } from 'zod'
import { count } from './config-values.ts'
import { REMOTE_ERROR_CODES } from './errors.ts'

export const identitySchema = z
  .object({
    secret: z
      .string()
      .min(32, 'an HS256 key needs at least 32 bytes')
      .optional()
      .describe('TIDEMARK_IDENTITY_SECRET. Shared by gateway and subgraphs; or {file: path}.'),
    privateKey: z.string().optional().describe('PEM of an Ed25519 key with which the gateway signs instead; or {file: path}.'),
    publicKey: z.string().optional().describe('PEM of its public key, with which a subgraph verifies; or {file: path}.'),
  })
  .strict()
  .describe('How a gateway tells remote subgraphs who asks, and how a subgraph of ours that runs alone believes it.')

const rateSchema = z
  .object({
    points: count(1, 1_000_000_000).describe('Cost that may be spent in the window.'),
    perSeconds: count(1, 86_400).describe('Length of the window, in seconds. It slides.'),
  })
  .strict()

export const limitsSchema = z
  .object({
    viewer: rateSchema.optional().describe('What one viewer may spend; a service that acts for viewers is counted as itself.'),
    client: rateSchema
      .optional()
      .describe('What all users of one client program may spend together. Clients name themselves: for fairness, not for safety.'),
    address: rateSchema.optional().describe('What one address may spend (of IPv6: one /64); see server.trustProxy.'),
    abuse: z
      .object({
        refusals: count(1, 1_000_000).describe('Refused requests in the window from which on a viewer or an address is blocked.'),
        perSeconds: count(1, 86_400).describe('Length of the window, in seconds.'),
        blockSeconds: count(1, 604_800).describe('How long everything is refused, in seconds.'),
      })
      .strict()
      .optional()
      .describe('Who goes on after being refused is blocked for a time.'),
  })
  .strict()
  .describe('Rate limits, in points of operation cost; none unless set. In Redis when stores.redis is set, else per process.')

export const corsSchema = z
  .object({
    origins: z
      .array(z.string().regex(/^(\*|https?:\/\/[^\s/*]+)$/, 'write https://host[:port] without a path, or *'))
      .min(1)
      .describe('Origins whose pages may call the API from a browser. "*": all of them, without credentials.'),
    credentials: z.boolean().default(false).describe('Whether browsers may send cookies and client certificates along.'),
  })
  .strict()

/** From loose to strict. */
export const PERSISTED_MODES = ['off', 'apq', 'report', 'enforce'] as const

export const persistedSchema = z
  .object({
    mode: z
      .enum(PERSISTED_MODES)
      .default('apq')
      .describe('off: texts only; apq: ids of manifests and registered ones too; report: others are recorded; enforce: manifests only.'),
    clients: z
      .record(z.string().min(1).max(64), z.enum(PERSISTED_MODES))
      .default({})
      .describe('Modes of client programs by name, each stricter than the default: clients name themselves.'),
    manifests: z.array(z.string().min(1)).default([]).describe("Files, and folders of *.json, in Apollo's or Relay's form."),
    watchEveryMs: count(0, 3_600_000).default(2_000).describe('Milliseconds between two looks at the manifests. 0: read at start only.'),
    registeredMax: count(1, 1_000_000).default(10_000).describe('Operations one process keeps that clients registered (apq, report).'),
    report: z.string().min(1).optional().describe('The file that report mode writes unknown operations to, as a manifest.'),
    reportMax: count(1, 100_000).default(1_000).describe('Unknown operations recorded at most.'),
  })
  .strict()

export const remoteSchema = z
  .object({
    timeoutMs: count(1, 600_000)
      .default(5_000)
      .describe('Milliseconds until an answer of a remote subgraph must be whole, all tries included.'),
    retries: count(0, 10).default(2).describe('Further tries of a query that got no answer. Mutations are never tried again.'),
    bodyBytesMax: count(1_024, 1_073_741_824).default(8_388_608).describe('Bytes an answer of a remote subgraph may have, or one event.'),
    connectionsMax: count(1, 10_000).default(64).describe('Connections to one remote subgraph, without those of subscriptions.'),
    dedupe: z.boolean().default(true).describe('Identical queries that are under way at the same time are one call.'),
    errorCodes: z
      .array(z.string().regex(/^[A-Za-z0-9_.:-]{1,100}$/, 'write an error code such as BAD_USER_INPUT'))
      .max(1_000)
      .default([...REMOTE_ERROR_CODES])
      .describe(
        "Codes of remote subgraphs' errors whose messages clients read in production. By default ours for mistakes of the client, BAD_USER_INPUT, NOT_FOUND and CONFLICT.",
      ),
    failuresMax: count(1, 1_000).default(5).describe('Calls in a row without an answer after which a remote subgraph counts as down.'),
    checkEveryMs: count(1, 600_000).default(1_000).describe('Milliseconds between two questions whether it is back.'),
  })
  .strict()
