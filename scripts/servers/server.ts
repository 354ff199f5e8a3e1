/**
 * A server as `scripts/services` sees it: install its programs, start it, ask it, stop it. One server may be several
 * processes (the six nodes of the cluster). Each process has a folder with its data, its output and its pid file.
 */
import type { ServerName } from './ports.ts'

export type Server = {
  name: ServerName
  /** The address for the configuration of a client. */
  address: string
  /** Its ports, each with the folder of the process that listens there. */
  listeners: readonly { port: number; folder: string }[]
  /** Finds or installs its programs. Rejects with a sentence that names the missing ones and the command that installs them. */
  install(): Promise<void>
  /** Starts the processes that do not run. */
  start(): Promise<void>
  /** Is the whole server ready for clients? */
  answers(): Promise<boolean>
  /** Stops the processes of its folders, and no others. */
  stop(): Promise<void>
}
