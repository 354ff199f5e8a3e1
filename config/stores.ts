/** Where data is kept: the embedded stores, or Redis, Kafka and MySQL. A part of config.ts. */
import { z } from 'zod'
import { count } from './values.ts'
import { ALLOWABLE_FINDINGS } from './store-findings.ts'

export const tlsSchema = z
  .object({
    ca: z.string().optional().describe('PEM of the authority to trust instead of the system; or {file: path}.'),
    cert: z.string().optional().describe('PEM of a client certificate, where the server asks for one; or {file: path}.'),
    key: z.string().optional().describe('PEM of its key; or {file: path}.'),
  })
  .strict()
  .describe('Given, connections are encrypted and the server is verified; {} trusts the authorities of the system.')

const redisServer = {
  urls: z
    .array(z.string().regex(/^rediss?:\/\//, 'write redis://host:port, or rediss:// for TLS'))
    .min(1)
    .describe('TIDEMARK_REDIS_URL, separated by commas. Of a Cluster: some of its nodes.'),
  cluster: z
    .boolean()
    .optional()
    .describe('TIDEMARK_REDIS_CLUSTER. True for a Redis Cluster; absent: whether more than one address is given.'),
  username: z.string().optional().describe('TIDEMARK_REDIS_USERNAME.'),
  password: z.string().optional().describe('TIDEMARK_REDIS_PASSWORD; or {file: path}.'),
  tls: tlsSchema.optional().describe('TIDEMARK_REDIS_TLS: true, or the file of the authority to trust.'),
  prefix: z.string().min(1).max(32).default('tm').describe('What all keys begin with, for deployments that share a server.'),
}

export const redisSchema = z
  .object({
    ...redisServer,
    second: z
      .object(redisServer)
      .strict()
      .optional()
      .describe('Another Redis for the counts of thumbup, read while this one does not answer.'),
  })
  .strict()

const kafkaSchema = z
  .object({
    brokers: z
      .array(z.string().regex(/^[^\s:]+:\d+$/, 'write host:port'))
      .min(1)
      .describe('TIDEMARK_KAFKA_BROKERS, separated by commas.'),
    tls: tlsSchema.optional().describe('TIDEMARK_KAFKA_TLS: true, or the file of the authority to trust.'),
    sasl: z
      .object({
        mechanism: z.enum(['plain', 'scram-sha-256', 'scram-sha-512']).default('scram-sha-512').describe('TIDEMARK_KAFKA_MECHANISM.'),
        username: z.string().min(1).describe('TIDEMARK_KAFKA_USERNAME.'),
        password: z.string().min(1).describe('TIDEMARK_KAFKA_PASSWORD; or {file: path}.'),
      })
      .strict()
      .optional()
      .describe('The credentials of Tidemark. Absent: no authentication.'),
    topicPrefix: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,100}$/, 'use letters, digits, dots, _ and -')
      .default('tidemark')
      .describe('What the names of the topics begin with.'),
    groupId: z
      .string()
      .min(1)
      .optional()
      .describe('The group of the jobs. Default: topicPrefix and "-history", so that deployments with topics of their own share no group.'),
    partitions: count(1, 10_000).default(12).describe('Partitions that `tidemark migrate` creates: the most jobs that can share the work.'),
    replicationFactor: count(-1, 100)
      .refine((copies) => copies !== 0, 'give the copies each partition has, or -1 for the default of the brokers')
      .default(-1)
      .describe('Copies of each partition that `tidemark migrate` creates. -1: what the brokers have as default.'),
  })
  .strict()
  .transform((kafka) => ({ ...kafka, groupId: kafka.groupId ?? `${kafka.topicPrefix}-history` }))

export const mysqlSchema = z
  .object({
    url: z
      .string()
      .regex(/^mysql:\/\//, 'write mysql://user@host:port/database')
      .describe('TIDEMARK_MYSQL_URL.'),
    user: z.string().optional().describe('TIDEMARK_MYSQL_USER.'),
    password: z.string().optional().describe('TIDEMARK_MYSQL_PASSWORD; or {file: path}.'),
    tls: tlsSchema.optional().describe('TIDEMARK_MYSQL_TLS: true, or the file of the authority to trust.'),
    connectionsMax: count(1, 1_000).default(8).describe('Connections of one process.'),
  })
  .strict()

export const storesSchema = z
  .object({
    data: z.string().min(1).default('./data').describe('TIDEMARK_DATA, --data. The folder of the embedded stores and of journals.'),
    regions: count(1, 16_384).default(100).describe('Shards of viewers. Fixed for the life of a deployment.'),
    sizeMaxGb: z
      .number()
      .min(0.001)
      .max(65_536)
      .default(64)
      .describe('The most the embedded stores may take, in GB; beyond it writes are refused with STORE_FULL.'),
    redis: redisSchema.optional().describe('The hot store. With kafka and mysql: the distributed shape; without all three: embedded.'),
    kafka: kafkaSchema.optional().describe('The log.'),
    mysql: mysqlSchema.optional().describe('The record store.'),
    allow: z
      .array(z.enum(ALLOWABLE_FINDINGS))
      .default([])
      .describe('Names of `tidemark doctor` findings to accept: they do not stop a start in production and cause no warning.'),
  })
  .strict()
