/**
 * How many bytes do counters of posts take in Redis, how fast are their reads, and are they exact?
 *
 * - Bytes and reads of a post with four counters are compared with one key per counter, in the same Redis. Those keys are read by one GET
 *   each, in one round trip, and by one MGET. The time of Redis (`INFO commandstats`) shows its capacity for many clients.
 * - Are the totals exact after 10 million events (quick: 200,000), with redelivered batches, kill -9 of the counting processes, and one of
 *   Redis? The processes run the whole write-back on Redis, Kafka and MariaDB.
 *
 *     npm run bench -- counters [--quick] [--json]
 */
import type { BenchOptions, Measure } from '../support/report.ts'
import { measureExactness } from './counter-exactness.ts'
import { measureReads, measureScripts } from './counter-reads.ts'

export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  return [
    ...(await measureReads(quick, progress)),
    ...(await measureScripts(quick, progress)),
    ...(await measureExactness(quick, progress)),
  ]
}
