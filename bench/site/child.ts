/** A program of the benchmark in a process of its own. It answers one question after the other. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { SHIPPED_OPTIONS } from '../../harness/deployment/role.ts'

export type Child<Question, Reply> = {
  pid: number
  ask(question: Question): Promise<Reply>
  stop(): Promise<void>
}

type Message<Reply> = { reply: Reply } | { error: string }

/** `setting`: one argument of the program, which has to be JSON. Resolves when the program has begun to answer. */
export async function startChild<Question, Reply>(program: string, setting: unknown): Promise<Child<Question, Reply>> {
  const child = fork(program, [JSON.stringify(setting)], { serialization: 'advanced', execArgv: SHIPPED_OPTIONS })
  const killAtExit = (): void => void child.kill('SIGKILL')
  process.once('exit', killAtExit)
  const gone = once(child, 'exit')

  async function next(): Promise<Reply> {
    const message = once(child, 'message') as Promise<[Message<Reply>]>
    const [answer] = (await Promise.race([message, gone.then(() => [{ error: `${program} has ended` }])])) as [Message<Reply>]
    if ('error' in answer) throw new Error(answer.error)
    return answer.reply
  }

  await next()
  return {
    pid: child.pid as number,
    ask(question) {
      child.send(question as object)
      return next()
    },
    async stop() {
      child.kill('SIGTERM')
      await gone
      process.off('exit', killAtExit)
    },
  }
}

/** In the child: answers the questions of the parent. */
export function answerParent<Question, Reply>(answer: (question: Question) => Promise<Reply> | Reply): void {
  const send = (message: object): void => void process.send?.(message)
  process.on('message', (question: Question) => {
    const asked = async (): Promise<Reply> => answer(question)
    asked().then(
      (reply) => send({ reply }),
      (error: unknown) => send({ error: String(error) }),
    )
  })
  send({ reply: undefined })
}

export function settingOf<Setting>(): Setting {
  return JSON.parse(process.argv[2] ?? '') as Setting
}
