/** A container, pod or unit of the deployment files, whichever file describes it. */

export type Container = {
  name: string
  /** The arguments of the image's entrypoint. */
  args: readonly string[]
  /** Beside the variables of the image. */
  environment: Readonly<Record<string, string>>
  /** The contents of mounted files by their path. */
  files: Readonly<Record<string, string>>
  health: Health
}

export type Health =
  /** A command that ends with status 0 once the process is healthy. */
  | { kind: 'command'; command: readonly string[] }
  /** Paths that all answer 200 once the process is healthy. */
  | { kind: 'paths'; paths: readonly string[] }
  | { kind: 'none' }
