/**
 * A command that takes a third of the time of a command of ioredis. A page of lookups has 250 arguments, and ioredis measures the bytes of
 * each. Here the text between two Buffers is measured once. If it is all ASCII, each argument has as many bytes as characters. If not,
 * ioredis makes the bytes of the command.
 */
import { Command } from 'ioredis'

const HEADERS = Array.from({ length: 128 }, (_, length) => headerOf(length))

export class TextCommand extends Command {
  constructor(name: string, args: readonly (string | Buffer | number)[]) {
    // Null: bulk strings as Buffers.
    super(name, [], { replyEncoding: null })
    this.args = [...args]
    this.stringifyArguments()
  }

  /** As in ioredis, but the socket is read before the command fails: if this process was busy, the answer may wait there. */
  override setTimeout(ms: number): void {
    // Private in ioredis, which clears the timer when the command has ended. Its version is pinned.
    const own = this as unknown as { _commandTimeoutTimer?: NodeJS.Timeout }
    own._commandTimeoutTimer ??= setTimeout(giveUpLater, ms, this)
  }

  override toWritable(socket: object): string | Buffer {
    const parts: (string | Buffer)[] = []
    let text = `*${this.args.length + 1}${headerOf(this.name.length)}${this.name}`
    for (const arg of this.args as (string | Buffer)[]) {
      text += HEADERS[arg.length] ?? headerOf(arg.length)
      if (typeof arg === 'string') text += arg
      else {
        parts.push(text, arg)
        text = ''
      }
    }
    parts.push(text + '\r\n')
    if (!parts.every((part) => typeof part !== 'string' || Buffer.byteLength(part) === part.length)) return super.toWritable(socket)
    return parts.length === 1 ? (parts[0] as string) : joined(parts)
  }
}

/** All text must be ASCII. */
function joined(parts: readonly (string | Buffer)[]): Buffer {
  const target = Buffer.allocUnsafe(parts.reduce((sum, { length }) => sum + length, 0))
  let end = 0
  for (const part of parts) end += typeof part === 'string' ? target.write(part, end, 'latin1') : part.copy(target, end)
  return target
}

function giveUpLater(command: TextCommand): void {
  setImmediate(giveUp, command)
}

function giveUp(command: TextCommand): void {
  if (!command.isResolved) command.reject(new Error('Command timed out'))
}

function headerOf(length: number): string {
  return `\r\n$${length}\r\n`
}
