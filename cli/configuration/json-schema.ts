/** The JSON Schema of tidemark.yaml, or of a live version, for editors and for checks in CI. It is made of the schema of the configuration. */
import { zodToJsonSchema } from 'zod-to-json-schema'
import { configSchema } from '../../config/config.ts'
import { hasLive, isLive } from '../../config/live/live-settings.ts'

type Schema = { properties?: Record<string, Schema>; items?: Schema; required?: string[]; [key: string]: unknown }

export function jsonSchema(isOfLive: boolean): Schema {
  const whole = zodToJsonSchema(configSchema, { $refStrategy: 'none' }) as Schema
  return isOfLive ? { ...liveOnly(whole, ''), title: 'A live version of Tidemark' } : { ...whole, title: 'tidemark.yaml' }
}

/** The live settings alone. Nothing is required: the rest comes from the other sources. A business needs its number. */
function liveOnly(schema: Schema, path: string): Schema {
  const { properties, items, required, default: _, ...rest } = schema
  return {
    ...rest,
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).flatMap(([key, each]) => {
          const inner = path === '' ? key : `${path}.${key}`
          return hasLive(inner) ? [[key, isLive(path) && !('items' in each || 'properties' in each) ? each : liveOnly(each, inner)]] : []
        }),
      ),
    }),
    ...(items && { items: liveOnly(items, path) }),
    ...(path === 'businesses' && required?.includes('number') && { required: ['number'] }),
  }
}
