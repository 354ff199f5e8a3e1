/** Shows a long task while it runs: a line that moves on a terminal, one line when it ends elsewhere. */
import { Listr } from 'listr2'

/** Runs `task` and hands on what it returns; `progress` replaces the text beside the title. */
export async function runWithProgressBar<T>(title: string, task: (progress: (text: string) => void) => Promise<T>): Promise<T> {
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
    { renderer: 'default', fallbackRenderer: 'silent' },
  )
  await list.run()
  if (result === undefined) throw new Error('the task ended without a result')
  return result.value
}
