/** The options of the log on Kafka. */
import type { KafkaConnection } from '../../../stores/kafka/client.ts'
import type { Stream } from '../../../core/log-consumer.ts'

export type KafkaLogOptions = {
  connection: KafkaConnection
  /** Number of regions of this deployment. */
  regions: number
  /** Prefix of the topics' names. Default "tidemark". */
  topicPrefix?: string
  /** Which log of this deployment. Default "history". */
  stream?: Stream
  /** The persisting group. Default: the prefix and "-history", "-feed", or "-thumbup" for marks. */
  groupId?: string
  /** Open and start to consume even if Kafka does not answer now. Missing topics are an error in any case. Default false. */
  mayBeDown?: boolean
  /**
   * With `mayBeDown`: if topics are missing or access is denied, the log counts as down until an operator has repaired it. Default false.
   */
  mayBeUnfit?: boolean
  /** Milliseconds an append may take before it fails, retries included. Minimum 100. Default 5000. */
  appendMaxMs?: number
  /** Bytes that may wait to be sent. Default 64 MiB. */
  waitingBytesMax?: number
  /** Maximum keys per call of `persist`, unless a single message has more. Minimum 1. Default 20000. */
  batchKeysMax?: number
  /** Partitions persisted concurrently. Minimum 1. Default 4. */
  partitionsAtOnce?: number
  /** Milliseconds without a heartbeat after which the group reassigns a member's partitions. Default 10000. */
  sessionMaxMs?: number
  /** Milliseconds that members have to finish their batches when the group changes. Default 60000. */
  rebalanceMaxMs?: number
  /** Milliseconds without a fetch or a heartbeat after which a consumer counts as hung and is replaced. Default 60000. */
  hungAfterMs?: number
}
