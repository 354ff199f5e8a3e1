/** The configuration of the gateway: authentication, limits, operations and remote subgraphs. */
import { z } from 'zod'
import { count } from './values.ts'
import { REMOTE_ERROR_CODES } from '../core/errors.ts'

export const identitySchema = z
  .object({
    secret: z
      .string()
      .min(32, 'an HS256 key needs at least 32 bytes')
      .optional()
      .describe('The key that the gateway and its subgraphs share, at least 32 bytes.'),
    privateKey: z.string().optional().describe('The Ed25519 key of the gateway, in PEM form. It replaces `secret`.'),
    publicKey: z.string().optional().describe('The public key that belongs to `privateKey`, in PEM form, for subgraphs.'),
  })
  .strict()
  .describe(
    'The keys of the signed identity header, with which a gateway names the viewer to remote subgraphs and to subgraphs that run alone.',
  )

const rateSchema = z
  .object({
    points: count(1, 1_000_000_000).describe('Cost of all operations in the window.'),
    perSeconds: count(1, 86_400).describe('Length of the sliding window.'),
  })
  .strict()

/** A rate, or none. */
const rateOrNone = z.union([rateSchema, z.literal('none')], {
  errorMap: () => ({ message: 'give points (1 to 1000000000) and perSeconds (1 to 86400), or none' }),
})

const abuseSchema = z
  .object({
    refusals: count(1, 1_000_000).describe('A viewer or an address is blocked after this many refused requests in the window.'),
    perSeconds: count(1, 86_400).describe('Length of the window.'),
    blockSeconds: count(1, 604_800).describe('Duration of the block. Every request is refused.'),
  })
  .strict()

/** A page of 50 subjects costs 50 to 200 points, a heartbeat 11, a batch of 500 reports 5,500. */
export const PRODUCTION_LIMITS = {
  viewer: { points: 30_000, perSeconds: 30 },
  service: 'none',
  anonymous: { points: 30_000, perSeconds: 10 },
  abuse: { refusals: 1_000, perSeconds: 60, blockSeconds: 60 },
} as const

/** Private and local addresses: the site's own front ends, and proxies that server.trustProxy does not name. */
const PRIVATE_ADDRESSES = [
  ...['127.0.0.0/8', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16'],
  ...['::1', 'fc00::/7', 'fe80::/10'],
]

const OPEN_MAX = 1_000_000_000

/** A point keeps 200 bytes and a connection 20 KB: 100 MB and 200 MB if a process is full. */
const openConnectionsSchema = z
  .object({
    address: count(1, OPEN_MAX)
      .default(1_000)
      .describe('Per address. IPv6: per /64, and four times as many per /48. More than an office needs.'),
    viewer: count(1, OPEN_MAX).default(50).describe('Per viewer. More than the tabs and devices of one person.'),
    process: count(1, OPEN_MAX).default(10_000).describe('Per process. Clients without a token may have half of them.'),
  })
  .strict()
  .describe('Open WebSockets and event streams. Each process counts its own.')

const openCostSchema = z
  .object({
    address: count(1, OPEN_MAX).default(100_000).describe('Per address. Enough for 1,000 pages that follow 50 ids each.'),
    viewer: count(1, OPEN_MAX).default(20_000).describe('Per viewer. Enough for two full WebSockets.'),
    process: count(1, OPEN_MAX).default(500_000).describe('Per process. Clients without a token may use half of it.'),
  })
  .strict()
  .describe('Total cost of open subscriptions: 50 points each, and one per followed id. Each process counts its own.')

export const limitsSchema = z
  .object({
    openConnections: openConnectionsSchema.default({}),
    openCost: openCostSchema.default({}),
    viewer: rateOrNone
      .optional()
      .describe(
        'Points per viewer. Default in production: 30000 in 30 s. This allows five full batches of reports at once, or six pages a second. A page of 50 subjects with values of the viewer costs 151 points. A player with ten tabs spends 220.',
      ),
    service: rateOrNone
      .optional()
      .describe(
        'Points per service: a token with a scope that only the site issues, such as viewer:any or existence:bulk. Default in production: none, because the site controls the load of its importers and recommenders. If viewer is set, the default is the limit of viewer.',
      ),
    client: rateSchema
      .optional()
      .describe(
        'Points of all users of one client program together. Clients name themselves, so this limit is for fairness and not for security.',
      ),
    preparing: rateOrNone
      .optional()
      .describe(
        'Points for preparing new operations, per viewer or per address without a token, in each process: 20 points per millisecond. Default in production: 40000 in 200 s, which is 2 s at once, then 1% of the time.',
      ),
    address: rateSchema
      .optional()
      .describe(
        'Points per address (IPv6: per /64, and four times as many per /48), with or without tokens; see `server.trustProxy`. Default: off, because an office or a rendering front end is one address.',
      ),
    anonymous: rateOrNone
      .optional()
      .describe(
        'Points of callers without a token, per address (IPv6: per /64, and four times as many per /48). Default in production: 30000 in 10 s, or none if address is set. This allows 58 pages a second, more than an office or the clients behind one carrier address need. A page of 50 subjects without values of a viewer costs 51 points.',
      ),
    sharedAddresses: z
      .array(z.string().regex(/^[0-9a-fA-F:.]+(\/\d{1,3})?$/, 'write an address or a CIDR range'))
      .default(PRIVATE_ADDRESSES)
      .describe(
        'Addresses shared by many callers, which `anonymous` does not count: rendering front ends, gateways of partners. Default: private and local addresses. It is better to send `x-forwarded-for` and set `server.trustProxy`.',
      ),
    abuse: z
      .union([abuseSchema, z.literal('none')], {
        errorMap: () => ({ message: 'give refusals, perSeconds and blockSeconds, or none' }),
      })
      .optional()
      .describe(
        'Blocks callers that continue after refusals. Default in production: 60 s after 1000 refusals in 60 s; a client that obeys Retry-After has one refusal. Callers with valid tokens are still served at a blocked anonymous address.',
      ),
  })
  .strict()
  .describe(
    'Rate limits, in points of operation cost. Default in development: off. With `stores.redis`, Redis counts the limits that are set. Each process counts the production defaults for itself.',
  )

export const corsSchema = z
  .object({
    origins: z
      .array(z.string().regex(/^(\*|https?:\/\/[^\s/*]+)$/, 'write https://host[:port] without a path, or *'))
      .min(1)
      .describe('The origins of these pages. `*` allows all of them, without credentials.'),
    credentials: z.boolean().default(false).describe('Whether browsers may send cookies and client certificates.'),
    headers: z
      .array(z.string().regex(/^[A-Za-z0-9-]{1,64}$/, 'write a header name such as traceparent'))
      .optional()
      .describe('The request headers that these pages may send. Default: every header that a page asks for.'),
  })
  .strict()

/** From loose to strict. */
export const PERSISTED_MODES = ['off', 'apq', 'report', 'enforce'] as const

export const persistedSchema = z
  .object({
    mode: z
      .enum(PERSISTED_MODES)
      .default('apq')
      .describe(
        '`off`: operations by text only. `apq`: also by id, from manifests or registered by clients. `report`: as `apq`, and operations of no manifest are recorded. `enforce`: only operations of manifests.',
      ),
    clients: z
      .record(z.string().min(1).max(64), z.enum(PERSISTED_MODES))
      .default({})
      .describe('Modes of client programs by name. Each is stricter than `mode`, because clients name themselves.'),
    manifests: z
      .array(z.string().min(1))
      .default([])
      .describe("Manifests in Apollo's or Relay's form: files, or folders of `*.json`. Paths are relative to the configuration file."),
    watchEveryMs: count(0, 3_600_000)
      .default(2_000)
      .describe('Interval between two checks of the manifests. 0: they are read at start only.'),
    report: z
      .string()
      .min(1)
      .optional()
      .describe('The manifest file in which the mode `report` records unknown operations. Its path is relative to the working folder.'),
    reportMax: count(1, 100_000).default(1_000).describe('Number of unknown operations that are recorded.'),
  })
  .strict()

export const remoteSchema = z
  .object({
    timeoutMs: count(1, 600_000).default(5_000).describe('Time limit for a whole answer of a remote subgraph, including all tries.'),
    retries: count(0, 10).default(2).describe('Further tries of a query without an answer. Mutations are not repeated.'),
    bodyBytesMax: count(1_024, 1_073_741_824).default(8_388_608).describe('Size limit of an answer or an event of a remote subgraph.'),
    connectionsMax: count(1, 10_000).default(64).describe('Connections to one remote subgraph, besides those of subscriptions.'),
    dedupe: z.boolean().default(true).describe('Whether identical queries at the same time share one call.'),
    errorCodes: z
      .array(z.string().regex(/^[A-Za-z0-9_.:-]{1,100}$/, 'write an error code such as BAD_USER_INPUT'))
      .max(1_000)
      .default([...REMOTE_ERROR_CODES])
      .describe("In production, clients get the message of a remote subgraph's error only if its code is in this list."),
    failuresMax: count(1, 1_000).default(5).describe('A remote subgraph counts as down after this many calls in a row without an answer.'),
    checkEveryMs: count(1, 600_000).default(1_000).describe('Interval between two checks of a subgraph that is down.'),
  })
  .strict()
