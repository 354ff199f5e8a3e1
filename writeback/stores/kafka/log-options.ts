/** The options of the log on Kafka. */
import type { KafkaConnection } from '../../../stores/kafka/client.ts'
import type { Stream } from '../../../core/log-consumer.ts'

export type KafkaLogOptions = {
  connection: KafkaConnection
  /** Shards of viewers of this deployment. */
  regions: number
  /** What the topics' names begin with. Default "tidemark". */
  topicPrefix?: string
  /** Which log of this deployment. Default "history". */
  stream?: Stream
  /** The persisting group. Default: the prefix and "-history", or "-thumbup" of marks. */
  groupId?: string
  /** Open, and begin to consume, even if Kafka does not answer now. Missing topics are an error all the same. Default false. */
  mayBeDown?: boolean
  /** With `mayBeDown`: topics that are missing, or that we may not use, count as a log that is down until somebody has mended it. Default false. */
  mayBeUnfit?: boolean
  /** Milliseconds an append may take before it fails, retries included. Minimum 100. Default 5000. */
  appendMaxMs?: number
  /** Bytes that may wait to be sent. Default 64 MiB. */
  waitingBytesMax?: number
  /** Keys one call of `persist` gets at most, where a single message has not more. Minimum 1. Default 20000. */
  batchKeysMax?: number
  /** Partitions persisted side by side. Minimum 1. Default 4. */
  partitionsAtOnce?: number
  /** Milliseconds without a heartbeat after which the group gives a member's partitions to others. Default 10000. */
  sessionMaxMs?: number
  /** Milliseconds the members have to finish their batches when the group changes. Default 60000. */
  rebalanceMaxMs?: number
  /** Milliseconds without a fetch or a heartbeat after which a consumer counts as hung and is replaced. Default 60000. */
  hungAfterMs?: number
}
