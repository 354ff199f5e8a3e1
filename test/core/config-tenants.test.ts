import { expect, test } from 'vitest'
import { tenantMistakes } from '../../core/config-thumbup.ts'

const tenant = (name: string, stores: { data?: string }) => ({
  name,
  thumbup: { enabled: true, dislikes: true, likesCap: 1_000, deleted: false, stores },
})

test.each([
  ['as it stands', '/data/main'],
  ['with a dot', '/data/main/.'],
  ['by a way round', '/data/x/../main/'],
])('a tenant cannot have the folder of all, %s', (_, data) => {
  expect(tenantMistakes([tenant('article', { data })], '/data/main', false)).toEqual([
    'businesses: article: thumbup.stores.data is that of stores.data: give it a folder of its own',
  ])
})

test('two tenants cannot share a folder', () => {
  expect(tenantMistakes([tenant('article', { data: '/data/own' }), tenant('comic', { data: '/data/./own' })], '/data/main', false)).toEqual(
    ['businesses: comic: thumbup.stores.data is that of article: give it a folder of its own'],
  )
})

test('what is of the other shape is refused', () => {
  expect(tenantMistakes([tenant('article', { data: '/data/own' })], '/data/main', true)).toEqual([
    'businesses: article: thumbup.stores.data is for the embedded shape: give redis, mysql or both',
  ])
  expect(tenantMistakes([tenant('article', {})], '/data/main', true)).toEqual([
    'businesses: article: thumbup.stores is empty: give redis, mysql or both, or leave it out',
  ])
})
