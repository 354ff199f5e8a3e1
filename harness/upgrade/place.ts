/** A place of a deployment, such as the second gateway: its folder, its port and its settings stay, and either release runs there. */
import { makeRole, type Role, type RoleOptions } from '../deployment/role.ts'

/** The code of the release before, and this code. */
export type Releases = { before: string; present: string }
export type ReleaseName = keyof Releases

export type Place = {
  name: string
  url: string
  /** The process of the release that runs. */
  role(): Role
  release(): ReleaseName
  /** Ends what runs as an operator does, and starts this release. Also a restart. Rejects if either fails. */
  run(release: ReleaseName): Promise<void>
  stop(): Promise<void>
  kill(): Promise<void>
  /** Sentences about each unexpected end. */
  deaths(): string[]
}

export function makePlace(options: Omit<RoleOptions, 'checkout'>, releases: Releases): Place {
  const roles = {
    before: makeRole({ ...options, checkout: releases.before }),
    present: makeRole({ ...options, checkout: releases.present }),
  }
  let running: ReleaseName = 'before'
  async function stop(): Promise<void> {
    if (!roles[running].isRunning()) return
    const status = await roles[running].stop()
    if (status !== 0) throw new Error(`${options.name} of the release ${running} ended with status ${status} on SIGTERM`)
  }
  return {
    name: options.name,
    url: roles.present.url,
    role: () => roles[running],
    release: () => running,
    async run(release) {
      await stop()
      running = release
      await roles[release].start()
    },
    stop,
    kill: async () => void (await Promise.all([roles.before.kill(), roles.present.kill()])),
    deaths: () => [...roles.before.deaths(), ...roles.present.deaths()],
  }
}
