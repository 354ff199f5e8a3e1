/** An address that a server cannot listen on: the reasons of the system as sentences with advice. */
import { TidemarkError } from '../../core/errors.ts'

const LISTEN_REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use: stop the process that listens there, or choose another with PORT or --port (0 picks a free one)',
  EACCES: 'is not allowed to this user: choose one above 1023 with PORT or --port',
  EADDRNOTAVAIL: 'cannot be used: server.host is not an address of this machine',
  ENOTFOUND: 'cannot be used: server.host is not known; use 127.0.0.1 for this machine, or 0.0.0.0 for all of its addresses',
}

/** Other errors are returned as they are. */
export function listenErrorOf(error: unknown, { host, port }: { readonly host: string; readonly port: number }): unknown {
  const code = (error as { code?: unknown }).code
  const reason = typeof code === 'string' ? LISTEN_REASONS[code] : undefined
  return reason === undefined ? error : new TidemarkError('CONFIG_INVALID', `server.port ${port} of ${host} ${reason}`, { cause: error })
}
