/** Consumer groups of a deployment, for operators. */
import { askOnce } from './asking.ts'
import { makeClient, type KafkaConnection, type KafkaLogger } from './client.ts'

/** The groups with this prefix that have members. A killed member leaves when its session ends. */
export function groupsInUse(connection: KafkaConnection, prefix: string, logger: KafkaLogger): Promise<string[]> {
  return askOnce(makeClient(connection, logger), connection, async (admin) => {
    const ids = (await admin.listGroups()).groups.map(({ groupId }) => groupId).filter((id) => id.startsWith(prefix))
    if (ids.length === 0) return []
    const { groups } = await admin.describeGroups(ids)
    return groups.filter(({ members }) => members.length > 0).map(({ groupId }) => groupId)
  })
}
