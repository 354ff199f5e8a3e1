/** Shows the progress of a long task: a moving line on a terminal, and else a line on standard error every ten seconds. */
import { Listr } from 'listr2'

/** Returns the result of `task`. `progress` replaces the text beside the title. */
export async function runWithProgressBar<T>(title: string, task: (progress: (text: string) => void) => Promise<T>): Promise<T> {
  if (!process.stdout.isTTY) return runWithLines(title, task)
  let result: { value: T } | undefined
  const list = new Listr(
    [
      {
        title,
        async task(_, line) {
          result = {
            value: await task((text) => {
              line.title = `${title}: ${text}`
            }),
          }
        },
      },
    ],
    { renderer: 'default' },
  )
  await list.run()
  if (result === undefined) throw new Error('the task ended without a result')
  return result.value
}

const LINE_EVERY_MS = 10_000

async function runWithLines<T>(title: string, task: (progress: (text: string) => void) => Promise<T>): Promise<T> {
  let last = 'under way'
  const timer = setInterval(() => console.error(`${title}: ${last}`), LINE_EVERY_MS)
  try {
    return await task((text) => {
      last = text
    })
  } finally {
    clearInterval(timer)
  }
}
