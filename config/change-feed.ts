/** How copies of counts are kept equal to the database. A part of config.ts. */
import { z } from 'zod'
import { count } from './values.ts'

export const FEEDS = ['binlog', 'canal', 'events'] as const

export const feedSchema = z
  .object({
    feed: z
      .enum(FEEDS)
      .default('events')
      .describe(
        "What is followed: binlog, MySQL's or MariaDB's binary log; canal, a topic that TiCDC fills with canal-json; events, the service's own only. They take over from the two others when those stall.",
      ),
    name: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,60}$/, 'use letters, digits, dots, _ and -')
      .optional()
      .describe('The place in the feed of this process, like no other has; absent: made of host and port.'),
    canalTopic: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,249}$/, 'use letters, digits, dots, _ and -')
      .optional()
      .describe('With canal: the topic.'),
    staleAfterMs: count(1_000, 600_000)
      .default(10_000)
      .describe('How far binlog or canal may be behind before events take over, in milliseconds.'),
    backAfterMs: count(0, 3_600_000)
      .default(30_000)
      .describe('How long it must have been fresh before it is relied on again, in milliseconds.'),
  })
  .strict()
  .refine(({ feed, canalTopic }) => (feed === 'canal') === (canalTopic !== undefined), {
    message: 'canalTopic names the topic of feed: canal; give both or neither',
    path: ['canalTopic'],
  })
