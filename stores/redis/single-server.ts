/**
 * A connection to one server, in the database that is configured or not at all. ioredis goes on where the server refuses to
 * SELECT it (it has fewer, or the account may not): everything would then be read from and written to database 0, among
 * another deployment's keys. Here such a connection never becomes ready: it ends, says why, and is made again, as one whose
 * password is refused.
 */
import { Redis } from 'ioredis'

export class SingleServer extends Redis {
  override async select(...args: [index: string | number, ...rest: unknown[]]): Promise<'OK'> {
    try {
      return await super.select(args[0])
    } catch (error) {
      if (isAnswer(error)) {
        if (this.listenerCount('error') > 0) this.emit('error', new Error(`SELECT ${args[0]} refused: ${error.message}`, { cause: error }))
        this.disconnect(true)
      }
      // Of a connection that has ended; what waits for this would call it ready.
      return new Promise(() => undefined)
    }
  }
}

/** The server said so; otherwise the connection broke, which has its own consequences. */
function isAnswer(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError'
}
