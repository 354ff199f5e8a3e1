/**
 * A command that takes a third of the time of a command of ioredis. A page of lookups has 250 arguments, and ioredis measures the bytes of
 * each. Here the whole text is measured once: in ASCII, each argument has as many bytes as characters. ioredis makes the text of every other
 * command, such as one with Buffers.
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
    let text = `*${this.args.length + 1}${headerOf(this.name.length)}${this.name}`
    for (const arg of this.args) {
      if (typeof arg !== 'string') return super.toWritable(socket)
      text += (HEADERS[arg.length] ?? headerOf(arg.length)) + arg
    }
    text += '\r\n'
    return Buffer.byteLength(text) === text.length ? text : super.toWritable(socket)
  }
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
