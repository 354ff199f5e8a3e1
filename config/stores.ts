/** The stores: embedded, or Redis, Kafka and MySQL. A part of config.ts. */
import { z } from 'zod'
import { count } from './values.ts'
import { ALLOWABLE_FINDINGS } from './store-findings.ts'

export const tlsSchema = z
  .object({
    ca: z.string().optional().describe('The trusted authority in PEM form. Default: the authorities of the system.'),
    cert: z.string().optional().describe('A client certificate in PEM form, if the server needs one.'),
    key: z.string().optional().describe('The key of the client certificate, in PEM form.'),
  })
  .strict()
  .describe('If it is set, connections are encrypted and the server is verified. `{}` trusts the authorities of the system.')

const redisServer = {
  urls: z
    .array(z.string().regex(/^rediss?:\/\//, 'write redis://host:port, or rediss:// for TLS'))
    .min(1)
    .describe('Addresses of the server; of a Cluster, some of its nodes. The variable separates them by commas.'),
  cluster: z.boolean().optional().describe('Whether the server is a Redis Cluster. Default: true if there is more than one address.'),
  username: z.string().optional().describe('User name of Redis.'),
  password: z.string().optional().describe('Password of Redis.'),
  tls: tlsSchema.optional().describe('TLS to Redis. The variable is `true`, or the PEM file of the trusted authority.'),
  prefix: z.string().min(1).max(32).default('tm').describe('Prefix of all keys. Deployments that share a server need different prefixes.'),
}

export const redisSchema = z
  .object({
    ...redisServer,
    second: z
      .object(redisServer)
      .strict()
      .optional()
      .describe('A second Redis with the counts of likes. It is read while the first one does not answer.'),
  })
  .strict()

const kafkaSchema = z
  .object({
    brokers: z
      .array(z.string().regex(/^[^\s:]+:\d+$/, 'write host:port'))
      .min(1)
      .describe('Addresses of brokers. The variable separates them by commas.'),
    tls: tlsSchema.optional().describe('TLS to Kafka. The variable is `true`, or the PEM file of the trusted authority.'),
    sasl: z
      .object({
        mechanism: z.enum(['plain', 'scram-sha-256', 'scram-sha-512']).default('scram-sha-512').describe('SASL mechanism.'),
        username: z.string().min(1).describe('User name of Kafka.'),
        password: z.string().min(1).describe('Password of Kafka.'),
      })
      .strict()
      .optional()
      .describe('Credentials for Kafka. Default: no authentication.'),
    topicPrefix: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,100}$/, 'use letters, digits, dots, _ and -')
      .default('tidemark')
      .describe('Prefix of the names of all topics.'),
    groupId: z
      .string()
      .min(1)
      .optional()
      .describe(
        'The consumer group of the jobs. Default: `topicPrefix` and `-history`, so that deployments with different topics share no group.',
      ),
    partitions: count(1, 10_000).default(12).describe('Partitions that `tidemark migrate` creates. At most this many jobs share the work.'),
    replicationFactor: count(-1, 100)
      .refine((copies) => copies !== 0, 'give the copies each partition has, or -1 for the default of the brokers')
      .default(-1)
      .describe('Copies of each partition that `tidemark migrate` creates. -1: the default of the brokers.'),
  })
  .strict()
  .transform((kafka) => ({ ...kafka, groupId: kafka.groupId ?? `${kafka.topicPrefix}-history` }))

export const mysqlSchema = z
  .object({
    url: z
      .string()
      .regex(/^mysql:\/\//, 'write mysql://user@host:port/database')
      .describe('Address of the database.'),
    user: z.string().optional().describe('User name. Default: that of the address.'),
    password: z.string().optional().describe('Password. Default: that of the address.'),
    tls: tlsSchema.optional().describe('TLS to MySQL. The variable is `true`, or the PEM file of the trusted authority.'),
    connectionsMax: count(1, 1_000)
      .default(8)
      .describe(
        'Connections per pool. A process has separate pools for history, marks, filters, the feed, and the counters of the feed. Each business with its own stores has one more pool, for its marks.',
      ),
  })
  .strict()

export const storesSchema = z
  .object({
    data: z.string().min(1).default('./data').describe('The folder of the embedded stores and of journals.'),
    regions: count(1, 16_384).default(100).describe('Shards of viewers. The number is fixed for the life of a deployment.'),
    sizeMaxGb: z
      .number()
      .min(0.001)
      .max(65_536)
      .default(64)
      .describe('Size limit of the embedded stores. Beyond it, writes are refused with `STORE_FULL`.'),
    redis: redisSchema.optional().describe('The hot store.'),
    kafka: kafkaSchema.optional().describe('The log.'),
    mysql: mysqlSchema.optional().describe('The record store.'),
    allow: z
      .array(z.enum(ALLOWABLE_FINDINGS))
      .default([])
      .describe('Accepted findings of `tidemark doctor`. They do not stop a start in production and cause no warning.'),
  })
  .strict()
