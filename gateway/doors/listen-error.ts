/** An address that a server cannot listen on: the reasons of the system as sentences with advice. */
import { TidemarkError } from '../../core/errors.ts'

const LISTEN_REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use: stop the process that listens there, or choose another WAY (0 picks a free one)',
  EACCES: 'is not allowed to this user: choose one above 1023 WAY',
  EADDRNOTAVAIL: 'cannot be used: SETTING.host is not an address of this machine',
  ENOTFOUND: 'cannot be used: SETTING.host is not known; use 127.0.0.1 for this machine, or 0.0.0.0 for all of its addresses',
}

/** The ways to set the port, by the section that has host and port. */
const WAYS = { server: 'with PORT or --port', 'server.admin': 'with TIDEMARK_ADMIN_PORT' } as const
export type ListenSection = keyof typeof WAYS

/** Other errors are returned as they are. */
export function listenErrorOf(
  error: unknown,
  { host, port }: { readonly host: string; readonly port: number },
  section: ListenSection = 'server',
): unknown {
  const code = (error as { code?: unknown }).code
  const reason = typeof code === 'string' ? LISTEN_REASONS[code] : undefined
  if (reason === undefined) return error
  const sentence = reason.replace('SETTING', section).replace('WAY', WAYS[section])
  return new TidemarkError('CONFIG_INVALID', `${section}.port ${port} of ${host} ${sentence}`, { cause: error })
}
