/** The scalar `Timestamp`, as every subgraph has it: milliseconds since the Unix epoch. */
import { GraphQLScalarType, Kind } from 'graphql'

const NO_MOMENT = -1

/**
 * Whatever is no number becomes a moment that never was, and is rejected by the service, as one input of its batch: an
 * error here would refuse the inputs beside it as well. (NaN would be one: executors take it for a failed coercion.)
 */
export const timestamp = new GraphQLScalarType<number, number>({
  name: 'Timestamp',
  serialize(value) {
    if (typeof value === 'number') return value
    throw new TypeError('a Timestamp is a number of milliseconds since the Unix epoch')
  },
  parseValue: (value) => (typeof value === 'number' ? value : NO_MOMENT),
  parseLiteral: (node) => (node.kind === Kind.INT ? Number(node.value) : NO_MOMENT),
})
