/** Arguments of programs outside the `tidemark` command. A mistake prints its sentence and the usage, and ends with status 2. */

export type Complain = (sentence: string) => never

export function makeComplain(usage: string): Complain {
  return (sentence) => {
    console.error(`${sentence}\n${usage}`)
    process.exit(2)
  }
}

/** The result of `parse`. If it throws, the program ends with its message. */
export function parsedOr<T>(complain: Complain, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    return complain(error instanceof Error ? error.message : String(error))
  }
}
