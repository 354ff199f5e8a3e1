/**
 * Measured figures that the planner computes with. Each one names its metric in bench/runs.jsonl, and a test compares them. CPU figures are
 * microseconds of one core of that machine. "Unit costs" in bench/RESULTS.md shows them.
 */
export type Figure = {
  value: number
  unit: string
  /** The name of the run in bench/runs.jsonl. The newest run that has the metric counts. */
  run: string
  metric: string
}

export const FIGURES = {
  gatewayPerReport: { value: 155, unit: 'µs', run: 'plan', metric: 'CPU of the gateway per report, mean' },
  gatewayPerLookup: { value: 3.4, unit: 'µs', run: 'plan', metric: 'CPU of the gateway per lookup, mean' },
  jobPerRow: { value: 22, unit: 'µs', run: 'plan', metric: 'CPU of the job per row, mean' },
  redisPerReport: { value: 66, unit: 'µs', run: 'plan', metric: 'CPU of Redis per report, mean' },
  redisPerLookup: { value: 0.16, unit: 'µs', run: 'plan', metric: 'CPU of Redis per lookup, mean' },
  mysqlPerRow: { value: 16, unit: 'µs', run: 'plan', metric: 'CPU of MariaDB per row, mean' },
  redisBytesPerRecordShort: { value: 78, unit: 'bytes', run: 'redis-memory', metric: 'Redis: bytes per record, timelines of 10 entries' },
  redisBytesPerRecord: { value: 65, unit: 'bytes', run: 'redis-memory', metric: 'Redis: bytes per record, timelines of 50 to 128 entries' },
  redisBytesPerRecordLong: {
    value: 183,
    unit: 'bytes',
    run: 'redis-memory',
    metric: 'Redis: bytes per record, timelines of 1,000 entries',
  },
  redisBytesPerLike: { value: 33, unit: 'bytes', run: 'redis-marks', metric: 'Redis: bytes per like, 10 likes of a viewer' },
  redisBytesPerLikeLong: { value: 102, unit: 'bytes', run: 'redis-marks', metric: 'Redis: bytes per like, 1,000 likes of a viewer' },
  redisBytesPerLiker: { value: 152, unit: 'bytes', run: 'redis-marks', metric: 'Redis: state of a viewer' },
  redisBytesPerCount: { value: 208, unit: 'bytes', run: 'redis-marks', metric: 'Redis: a cached count with its version' },
  mysqlBytesPerRecord: { value: 404, unit: 'bytes', run: 'plan', metric: 'bytes of MariaDB per record, mean' },
  mysqlBytesPerLike: { value: 431, unit: 'bytes', run: 'marks-replay', metric: 'distributed: a recent mark' },
  mysqlBytesPerArchivedLike: { value: 48.157, unit: 'bytes', run: 'marks-replay', metric: 'distributed: an archived mark' },
  kafkaBytesPerMessage: { value: 100, unit: 'bytes', run: 'plan', metric: 'bytes of the log per message, at most' },
  kafkaBytesPerKey: { value: 22, unit: 'bytes', run: 'plan', metric: 'bytes of the log per key, at most' },
} as const satisfies Record<string, Figure>
