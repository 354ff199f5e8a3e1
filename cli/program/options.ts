/** Options that several commands have, and the parsers of their numbers. */
import { InvalidArgumentError } from 'commander'

export const PORT = ['--port <number>', 'port to listen on (PORT, default 4000)'] as const
export const HOST = ['--host <address>', 'address to listen on (HOST, default 127.0.0.1)'] as const
export const DATA = ['--data <folder>', 'folder of the embedded stores (TIDEMARK_DATA, default ./data)'] as const
export const JOURNAL_DATA = [
  '--data <folder>',
  'folder of the journals, on a disk that outlives the process (TIDEMARK_DATA, default ./data)',
] as const
export const SUPERGRAPH = [
  '--supergraph <file>',
  "supergraph.yaml with partners' subgraphs, or a composed supergraph (TIDEMARK_SUPERGRAPH)",
] as const
export const CONFIG = ['--config <file>', 'configuration file (TIDEMARK_CONFIG, default tidemark.yaml if it exists)'] as const
export const WITHOUT_AUTHORIZATION = [
  '--without-authorization-directives',
  'leave @authenticated and @requiresScopes out of the published SDL (server.authorizationDirectives: false). The subgraph still checks viewers and scopes',
] as const
export const GRAPH = ['--config <file>', 'supergraph.yaml in the form of rover, or a tidemark.yaml that names one'] as const
export const GRAPH_BESIDE = ['--supergraph <file>', 'supergraph.yaml, if --config is a tidemark.yaml'] as const

export function fromZeroTo(maximum: number): (text: string) => number {
  return (text) => {
    const value = decimal(text)
    if (value >= 0 && value <= maximum) return value
    throw new InvalidArgumentError(`give a number from 0 to ${maximum}.`)
  }
}

export function wholeFrom(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const value = decimal(text)
    if (Number.isInteger(value) && value >= minimum && value <= maximum) return value
    throw new InvalidArgumentError(`give a whole number from ${minimum} to ${maximum}.`)
  }
}

/** NaN if the text is not a decimal number. `Number` also accepts "", "0x10" and " 1 ". */
function decimal(text: string): number {
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN
}
