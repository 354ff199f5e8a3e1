#!/usr/bin/env node
/** The `tidemark` command. A mistake ends it with its sentence and status 1, or one of the command's own. */
import './process/node-version.ts'
import { isTidemarkError } from '../core/errors.ts'
import { makeAllYoung } from './process/heap.ts'
import { makeProgram } from './program.ts'

makeAllYoung()
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader has closed the pipe, as in `tidemark sample | head`.
  if (error.code === 'EPIPE') process.exit()
  if (error.code !== 'ENOSPC') throw error
  console.error('STORE_FULL: the disk of the output is full, and the output is incomplete: free space, and run the command again')
  process.exit(1)
})

try {
  await makeProgram().parseAsync()
} catch (error) {
  if (!isTidemarkError(error)) throw error
  console.error(`${error.code}: ${error.message}`)
  // Open stores must not keep a failed process alive. Acknowledged writes are durable.
  process.exit(process.exitCode ?? 1)
}
