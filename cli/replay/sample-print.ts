/** Prints `tidemark sample` as JSONL, at the pace of the reader. */
import { once } from 'node:events'
import { sampleReports, type SampleOptions } from './sample.ts'

export async function printSample(options: SampleOptions): Promise<void> {
  const { stdout } = process
  // A reader such as `head` may close the pipe early; which is not a failure.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
  for (const report of sampleReports(options)) {
    if (!stdout.write(`${JSON.stringify(report)}\n`)) await once(stdout, 'drain')
  }
}
