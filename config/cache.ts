/** The tiered cache of the feed: its layout of Memcached pools, and where the layout comes from. A part of config.ts. */
import { z } from 'zod'
import { count } from './values.ts'

export type CacheNode = { host: string; port: number; weight: number }

const NODE = /^(?<host>\[[0-9A-Fa-f:.]+\]|[^\s:*[\]]+):(?<port>\d{1,5})(\*(?<weight>\d{1,3}))?$/
const NODE_ADVICE = 'write host:port, or host:port*weight with a weight from 1 to 100'

/** Parses "host:port" or "host:port*weight". An IPv6 address stands in brackets. Undefined if the text is not a node. */
export function cacheNodeOf(text: string): CacheNode | undefined {
  const { host = '', port = '', weight = '1' } = NODE.exec(text)?.groups ?? {}
  const node = { host: host.replace(/^\[|\]$/g, ''), port: Number(port), weight: Number(weight) }
  const isPossible = host !== '' && node.port >= 1 && node.port <= 65_535 && node.weight >= 1 && node.weight <= 100
  return isPossible ? node : undefined
}

const nodeSchema = z.string().refine((text) => cacheNodeOf(text) !== undefined, NODE_ADVICE)
const poolSchema = z.array(nodeSchema).min(1, 'a pool needs a node: add one, or leave the pool out').max(256)

/** The layout: which pools exist, and their nodes. A pool is a list of `host:port` or `host:port*weight`. */
export const cacheLayoutSchema = z
  .object({
    main: poolSchema.describe('Nodes of the pool Main, which has nearly all recent values. A node is `host:port` or `host:port*weight`.'),
    backup: poolSchema.optional().describe('Nodes of the pool Backup, which is read if Main fails or misses. Half the memory of Main.'),
    l1: z
      .array(poolSchema)
      .max(16)
      .default([])
      .describe('Groups of nodes for the hottest values. A read asks a random group first. Each group has a tenth of the memory of Main.'),
  })
  .strict()
  .superRefine(({ main, backup = [], l1 }, context) => {
    const pools = [
      { path: ['main'], nodes: main },
      { path: ['backup'], nodes: backup },
      ...l1.map((nodes, at) => ({ path: ['l1', at], nodes })),
    ]
    const seen = new Set<string>()
    for (const { path, nodes } of pools) {
      for (const [at, node] of nodes.entries()) {
        const address = node.replace(/\*.*$/, '')
        const message = `${address} is in the layout twice: give each place a node of its own`
        if (seen.has(address)) context.addIssue({ code: 'custom', path: [...path, at], message })
        seen.add(address)
      }
    }
  })

export type CacheLayout = z.infer<typeof cacheLayoutSchema>

/** The section `cache`. */
export const cacheSchema = z
  .object({
    layout: cacheLayoutSchema
      .optional()
      .describe('The pools of Memcached nodes. Default: none, and each process caches in its own memory.'),
    ttlMs: count(1_000, 86_400_000).default(600_000).describe('A value leaves the pools after this time.'),
    memoryBytesMax: count(1_048_576, 17_179_869_184)
      .default(67_108_864)
      .describe('Memory of one process for cached values if there is no layout.'),
  })
  .strict()

export type CacheConfig = z.infer<typeof cacheSchema>
