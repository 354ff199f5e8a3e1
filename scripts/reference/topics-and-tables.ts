/** docs/reference/topics-and-tables.md: the topics, the tables of the record store, and the forms of Redis keys. */
import { wantedTopics } from '../../stores/kafka/topics.ts'
import { code, page, refuseUnused, table, type Page } from './page.ts'
import { redisBlocks } from './redis-keys.ts'
import { tableBlocks } from './tables.ts'

const FILE = 'scripts/reference/topics-and-tables.ts'
const PREFIX = 'tidemark'
const DAY_MS = 86_400_000
const RECORDS = '[schema/records.proto](../../schema/records.proto)'

/** Topics without the prefix. */
const TOPICS: Readonly<Record<string, readonly [message: string, holds: string]>> = {
  '.flushes': ['`Flush`', 'Keys of history to persist. All messages of a region are in one partition.'],
  '.mark-flushes': ['`Flush`', 'Keys of marks to persist, in the same form.'],
  '.feed-flushes': ['`Flush`', 'Keys of posts and filter words to persist, in the same form.'],
  '.plays': ['`Plays`', 'Plays from players and other services, at least once and in any order.'],
  '.rewards': ['`Reward`', 'The first view, play and issue of a day, at least once. A repeated reward has the same id.'],
  '.mark': ['`MarkEvent`', "Every transition of a mark, at least once, in the partition of the viewer's region."],
  '.count': ['`CountEvent`', "Changed counts of a subject, in the partition of the subject's region. The higher version is newer."],
  '.progress': [
    '`ProgressEvent`',
    "Persisted progress and settings of viewers, at least once, in the partition of the viewer's region; only with `history.progressTopic`. The higher version of a key is newer.",
  ],
  '.dead': ['any', 'Parked messages. A header of each message has the reason.'],
}

export function topicsAndTablesPage(): Page {
  return page('docs/reference/topics-and-tables.md', 5, 'Topics, tables and keys', [
    'This page lists the topics, tables and keys of the distributed shape. `tidemark migrate` creates the topics and the tables. [Servers](../operating/servers.md) explains the settings of the servers, and [Backup and restore](../operating/backup-and-restore.md) lists the data to back up.',
    '## Kafka topics',
    `The name of a topic begins with \`stores.kafka.topicPrefix\`. Messages have the types of ${RECORDS}. The number of partitions is the default of \`stores.kafka.partitions\`; \`.dead\` always has one. Topics are deleted by age and never compacted. A business with stores of its own has \`.mark-flushes\`, \`.rewards\` and \`.dead\` under \`PREFIX.BUSINESS\`.`,
    topicTable(),
    'Other services may read `.rewards`, `.mark`, `.count` and `.progress`, and may write `.plays`. The other topics are internal. See [Topics](../operating/servers.md#topics) and [Messages that cannot be read](../operating/outages.md#messages-that-cannot-be-read).',
    '## MySQL tables',
    '`tidemark migrate --print` prints the same schema as SQL. Ids are packed, so the order of their bytes is the order of the ids.',
    ...tableBlocks(),
    '## Redis keys',
    'Keys begin with `stores.redis.prefix`, which is `tm` here. `{TAG}` is the hash tag of a region, so all keys of a viewer are on one node of a Cluster. Keys that begin with `tm:limit:` count rate limits.',
    ...redisBlocks(),
  ])
}

export function topicTable(topics = wantedTopics({ topicPrefix: PREFIX, progress: true })): string {
  const rows = topics.map(({ topic, partitions, config }) => {
    const words = TOPICS[topic.slice(PREFIX.length)]
    if (words === undefined) throw new Error(`the topic "${topic}" has no description: add one in ${FILE}`)
    const days = Number(config['retention.ms']) / DAY_MS
    const [message, holds] = words
    return [code(topic), message, String(partitions), `${days} days`, holds]
  })
  refuseUnused(
    'topic',
    Object.keys(TOPICS),
    topics.map(({ topic }) => topic.slice(PREFIX.length)),
    FILE,
  )
  return table(['topic', 'message', 'partitions', 'kept', 'holds'], rows)
}
