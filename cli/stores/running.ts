/** Finds processes of a deployment before a command that must run alone. */
import type { Config } from '../../config/config.ts'
import { TidemarkError } from '../../core/errors.ts'
import { groupsInUse } from '../../stores/kafka/groups.ts'
import { kafkaConnection, type StoreLogger } from './servers.ts'

const SILENT: StoreLogger = { debug() {}, info() {}, warn() {}, error() {} }

/**
 * Throws DATA_IN_USE if a process of the distributed shape reads the log. A gateway that reads no topic is not found. The embedded shape has
 * the lock of its folder.
 */
export async function requireStopped({ stores }: Config): Promise<void> {
  const { kafka } = stores
  if (kafka === undefined) return
  const [group] = await groupsInUse(kafkaConnection(kafka), `${kafka.topicPrefix}-`, SILENT)
  if (group === undefined) return
  throw new TidemarkError(
    'DATA_IN_USE',
    `processes of this deployment are running (the consumer group ${group} has members): stop all of them first`,
  )
}
