/**
 * What `scripts/services` knows of a server: how to get its programs, start it, ask it, stop it. One server may be
 * several processes (the six nodes of the cluster); each has a folder of its own with its data, output and pid file.
 */
import type { ServerName } from './ports.ts'

export type Server = {
  name: ServerName
  /** What a client is configured with. */
  address: string
  /** Every port it will listen on, with the folder of the process that does. */
  listeners: readonly { port: number; folder: string }[]
  /** Finds or installs its programs. Rejects with a sentence that names what is missing and how to get it. */
  install(): Promise<void>
  /** Begins the processes that do not run. */
  start(): Promise<void>
  /** Does the whole server answer as a client needs it? */
  answers(): Promise<boolean>
  /** Stops the processes that run from its folders, and no others. */
  stop(): Promise<void>
}
