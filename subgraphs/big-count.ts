/** The scalar `BigCount`: a count beyond the 32 bits of GraphQL's `Int`. */
import { GraphQLScalarType } from 'graphql'

export const bigCount = new GraphQLScalarType<number, number>({
  name: 'BigCount',
  serialize(value) {
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
    throw new TypeError('a BigCount must be a whole number from 0 to 2^53')
  },
})
