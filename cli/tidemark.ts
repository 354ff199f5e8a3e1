#!/usr/bin/env node
/** The `tidemark` command. A mistake ends it with its sentence and status 1, or one of the command's own. */
import './process/node-version.ts'
import { isTidemarkError } from '../core/errors.ts'
import { makeAllYoung } from './process/heap.ts'
import { makeProgram } from './program.ts'

makeAllYoung()
// The reader has closed the pipe, as in `tidemark sample | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit()
})

try {
  await makeProgram().parseAsync()
} catch (error) {
  if (!isTidemarkError(error)) throw error
  console.error(`${error.code}: ${error.message}`)
  // Open stores must not keep a failed process alive. Acknowledged writes are durable.
  process.exit(process.exitCode ?? 1)
}
