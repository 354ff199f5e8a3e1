/**
 * Measured figures that the planner computes with. Each one names the section of bench/RESULTS.md in which its text stands, and a test
 * compares them. CPU figures are microseconds of one core of that machine.
 */
export type Figure = {
  value: number
  unit: string
  /** The heading in bench/RESULTS.md. */
  section: string
  /** Stands in that section, and has the value. */
  text: string
}

const UNIT_COSTS = 'Unit costs'

export const FIGURES = {
  gatewayPerReport: { value: 155, unit: 'µs', section: UNIT_COSTS, text: '| CPU of the gateway per report, µs | 155 |' },
  gatewayPerLookup: { value: 3.4, unit: 'µs', section: UNIT_COSTS, text: '| CPU of the gateway per lookup, µs | 3.4 |' },
  jobPerRow: { value: 22, unit: 'µs', section: UNIT_COSTS, text: '| CPU of the job per row, µs | 22 |' },
  redisPerReport: { value: 66, unit: 'µs', section: UNIT_COSTS, text: '| CPU of Redis per report, µs | 66 |' },
  redisPerLookup: { value: 0.16, unit: 'µs', section: UNIT_COSTS, text: '| CPU of Redis per lookup, µs | 0.16 |' },
  mysqlPerRow: { value: 16, unit: 'µs', section: UNIT_COSTS, text: '| CPU of MariaDB per row, µs | 16 |' },
  redisBytesPerRecordShort: { value: 78, unit: 'bytes', section: 'Adapters', text: '78 / 65 / 183' },
  redisBytesPerRecord: { value: 65, unit: 'bytes', section: 'Adapters', text: '78 / 65 / 183' },
  redisBytesPerRecordLong: { value: 183, unit: 'bytes', section: 'Adapters', text: '78 / 65 / 183' },
  redisBytesPerLike: { value: 33, unit: 'bytes', section: 'Adapters', text: '33 / 25 / 102' },
  redisBytesPerLikeLong: { value: 102, unit: 'bytes', section: 'Adapters', text: '33 / 25 / 102' },
  redisBytesPerLiker: { value: 152, unit: 'bytes', section: 'Adapters', text: '152' },
  redisBytesPerCount: { value: 208, unit: 'bytes', section: 'Adapters', text: '208' },
  mysqlBytesPerRecord: { value: 404, unit: 'bytes', section: UNIT_COSTS, text: '| bytes of MariaDB per record | 404 |' },
  mysqlBytesPerLike: { value: 397, unit: 'bytes', section: 'Marks replayed and compared', text: '397 / 48.2' },
  mysqlBytesPerArchivedLike: { value: 48.2, unit: 'bytes', section: 'Marks replayed and compared', text: '397 / 48.2' },
  kafkaBytesPerMessage: { value: 100, unit: 'bytes', section: UNIT_COSTS, text: '| bytes of the log per message, at most | 100 |' },
  kafkaBytesPerKey: { value: 22, unit: 'bytes', section: UNIT_COSTS, text: '| and per key, at most | 22 |' },
} as const satisfies Record<string, Figure>
