/** The change feed that refreshes cached counts. A part of config.ts. */
import { z } from 'zod'
import { count } from './values.ts'

export const FEEDS = ['binlog', 'canal', 'events'] as const

export const feedSchema = z
  .object({
    feed: z
      .enum(FEEDS)
      .default('events')
      .describe(
        "The followed source: `binlog` is the binary log of MySQL or MariaDB, `canal` a topic with canal-json of TiCDC, and `events` Tidemark's own events. If `binlog` or `canal` stalls, events take over.",
      ),
    name: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,60}$/, 'use letters, digits, dots, _ and -')
      .optional()
      .describe('The name of this process in the feed. It must be unique. Default: made of host and port.'),
    canalTopic: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,249}$/, 'use letters, digits, dots, _ and -')
      .optional()
      .describe('The topic of `feed: canal`.'),
    staleAfterMs: count(1_000, 600_000).default(10_000).describe('Events take over when `binlog` or `canal` is this far behind.'),
    backAfterMs: count(0, 3_600_000).default(30_000).describe('The feed is used again when it was not behind for this long.'),
  })
  .strict()
  .refine(({ feed, canalTopic }) => (feed === 'canal') === (canalTopic !== undefined), {
    message: 'canalTopic names the topic of feed: canal; give both or neither',
    path: ['canalTopic'],
  })
