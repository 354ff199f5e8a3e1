/**
 * How long the topics keep a message that was just appended. A broker removes whole segments, and a segment is removed `retention.ms` after
 * its last message, but not while it is the newest one. The newest segment ends `segment.ms` after its first message at the latest, with the
 * next message. A topic without later messages keeps its newest segment.
 */
import { type KafkaConnection, type KafkaLogger, REQUEST_MAX_MS, bounded, makeClient } from './client.ts'

/** `keptMs`: undefined if the topic keeps messages without a limit of time. */
export type TopicRetention = { topic: string; keptMs: number | undefined }

/** The number of "topic" among the resource types with settings. */
const TOPIC = 2

/** Existing topics with this prefix. Rejects with LOG_UNAVAILABLE if no broker answers. */
export async function readRetentions(connection: KafkaConnection, topicPrefix: string, logger: KafkaLogger): Promise<TopicRetention[]> {
  const admin = makeClient(connection, logger).admin()
  try {
    return await bounded(connection, connection.requestMaxMs ?? REQUEST_MAX_MS, async () => {
      await admin.connect()
      const names = (await admin.listTopics()).filter((topic) => topic.startsWith(`${topicPrefix}.`)).toSorted()
      if (names.length === 0) return []
      const { resources } = await admin.describeConfigs({
        includeSynonyms: false,
        resources: names.map((name) => ({ type: TOPIC, name, configNames: ['retention.ms', 'segment.ms'] })),
      })
      return resources.map(({ resourceName, configEntries }) => {
        const settings = new Map(configEntries.map((entry) => [entry.configName, Number(entry.configValue)]))
        const [kept = -1, segment = 0] = [settings.get('retention.ms'), settings.get('segment.ms')]
        return { topic: resourceName, keptMs: kept < 0 ? undefined : kept + segment }
      })
    })
  } finally {
    await admin.disconnect().catch(() => undefined)
  }
}
