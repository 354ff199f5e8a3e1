/** Arguments of programs that are no part of the command: a mistake ends with its sentence, the usage, and status 2. */

export type Complain = (sentence: string) => never

export function makeComplain(usage: string): Complain {
  return (sentence) => {
    console.error(`${sentence}\n${usage}`)
    process.exit(2)
  }
}

/** What `parse` gives; what it throws is said. */
export function parsedOr<T>(complain: Complain, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    return complain(error instanceof Error ? error.message : String(error))
  }
}
