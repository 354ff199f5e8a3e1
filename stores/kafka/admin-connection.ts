/** The connection for administrative requests to Kafka: one for all of them, and a new one after a request failed. */
import type { Admin, Kafka } from 'kafkajs'
import { again } from './asking.ts'
import { REQUEST_MAX_MS, bounded, type KafkaConnection } from './client.ts'
import { isWithoutCoordinator } from './errors.ts'

export function makeAdminConnection(kafka: Kafka, connection: KafkaConnection) {
  const requestMaxMs = connection.requestMaxMs ?? REQUEST_MAX_MS
  let admin: Promise<Admin> | undefined

  async function connect(): Promise<Admin> {
    const connected = kafka.admin()
    await connected.connect()
    return connected
  }

  return {
    async ask<T>(work: (connected: Admin) => Promise<T>): Promise<T> {
      const current = (admin ??= connect())
      try {
        return await bounded(connection, requestMaxMs, async () => {
          const connected = await current
          return again(isWithoutCoordinator, () => work(connected), requestMaxMs)
        })
      } catch (error) {
        if (admin === current) admin = undefined
        current.then((connected) => connected.disconnect()).catch(() => undefined)
        throw error
      }
    },
    async close(): Promise<void> {
      const last = admin
      admin = undefined
      await last?.then((connected) => connected.disconnect()).catch(() => undefined)
    },
  }
}
