import { expect, it } from 'vitest'
import { makeBoundedNames } from '../../../gateway/limits/bounded-names.ts'

it('the first names are kept, and later ones share one name', () => {
  const bounded = makeBoundedNames(2, 'others')
  expect(['a', 'b', 'c', 'a'].map(bounded)).toEqual(['a', 'b', 'others', 'a'])
})

it('a name of more than 128 characters is not kept', () => {
  const bounded = makeBoundedNames(2, 'others')
  expect(bounded('n'.repeat(1_000_000))).toBe('others')
  expect(['a', 'b'].map(bounded)).toEqual(['a', 'b'])
  expect(makeBoundedNames(1, 'others')('n'.repeat(128))).toBe('n'.repeat(128))
})
