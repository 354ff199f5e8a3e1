/**
 * A connection to one server, in the configured database or not at all. ioredis continues if the server refuses SELECT (the server has
 * fewer databases, or the account has no access). All data would then be read from and written to database 0, among the keys of another
 * deployment. Here such a connection never becomes ready: it ends with the reason and is made again, as after a rejected password.
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
      // For a connection that has ended: a result would mark it as ready.
      return new Promise(() => undefined)
    }
  }
}

/** True if the server answered with an error. Otherwise the connection broke, which is handled elsewhere. */
function isAnswer(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError'
}
