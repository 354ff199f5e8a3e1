import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { makeReplacedServers } from '../../../cli/process/standalone.ts'
import { makeSteppedClock } from '../../../harness/stepped-clock.ts'

function replacedServers() {
  const clock = makeSteppedClock()
  const lines: unknown[] = []
  const stops: string[] = []
  const replaced = makeReplacedServers(clock, { error: (fields: unknown) => void lines.push(fields) })
  const server = (name: string, failure?: Error) => ({
    stop() {
      stops.push(name)
      return failure === undefined ? Promise.resolve() : Promise.reject(failure)
    },
  })
  return { clock, lines, stops, replaced, server }
}

test('a replaced server stops after a minute, and the others stop with the process, each once', async () => {
  const { clock, stops, replaced, server } = replacedServers()
  replaced.add(server('first'))
  clock.advance(30_000)
  await setImmediate()
  replaced.add(server('second'))
  clock.advance(30_000)
  await setImmediate()
  expect(stops).toEqual(['first'])
  replaced.add(server('third'))
  await replaced.stop()
  clock.advance(60_000)
  await setImmediate()
  expect(stops).toEqual(['first', 'second', 'third'])
})

test('a replaced server that cannot be stopped is logged, and the others still stop', async () => {
  const { clock, lines, stops, replaced, server } = replacedServers()
  const failure = new Error('stop')
  replaced.add(server('first', failure))
  clock.advance(60_000)
  await setImmediate()
  replaced.add(server('second', failure))
  replaced.add(server('third'))
  await replaced.stop()
  expect(lines).toEqual([{ err: failure }, { err: failure }])
  expect(stops).toEqual(['first', 'second', 'third'])
})
