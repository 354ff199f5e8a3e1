/** The quotas of a business for plays and issues. */
import { expect, test } from 'vitest'
import { makeConfig } from '../../../config/config.ts'
import { closedAfterEach } from './closed-after-each.ts'
import { openSeen, REGIONS, serveSeen, SHAPE, viewerOf } from './opened.ts'

const { closing } = closedAfterEach()

function serve(video: object) {
  const opened = openSeen()
  const config = makeConfig([
    {
      name: 'test',
      values: {
        stores: { regions: REGIONS },
        existence: SHAPE,
        businesses: [
          { number: 1, name: 'video', entity: 'Video', existence: video },
          { number: 2, name: 'article', entity: 'Article' },
        ],
      },
    },
  ])
  const served = serveSeen(opened, config)
  closing.push(opened.close, served.stop)
  const call = async (field: string, more: string, business: string, ids: readonly string[]) =>
    (
      await served.ask(
        `mutation ($business: String!, $ids: [ID!]!) { ${field}(input: { business: $business, ids: $ids }) { ${more} userErrors { code message path } } }`,
        viewerOf('7'),
        { business, ids },
      )
    ).data[field]
  return {
    opened,
    played: (ids: readonly string[], business = 'video') => call('recordPlayed', 'recordedCount', business, ids),
    issued: (ids: readonly string[], business = 'video') => call('recordIssued', 'recorded', business, ids),
  }
}

const ids = (count: number, from = 0) => Array.from({ length: count }, (_, at) => `s${from + at}`)

test('plays beyond the rate of a business are refused as a whole, and plays of another business are recorded', async () => {
  const { opened, played } = serve({ playsPerSecondMax: 10 })
  expect(await played(ids(100))).toMatchObject({ recordedCount: 100, userErrors: [] })
  expect(await played(['late'])).toEqual({
    recordedCount: 0,
    userErrors: [
      {
        code: 'QUOTA_EXCEEDED',
        message: 'business "video" has used its 10 plays of this second: send the play again later',
        path: ['input', 'business'],
      },
    ],
  })
  expect(await played(['late'], 'article')).toMatchObject({ recordedCount: 1 })
  expect((await opened.plain.hot.getSeen('7', 1)).staged.map(({ oid }) => oid)).not.toContain('late')
  // The call of 100 has used up the rate of ten seconds.
  opened.clock.advance(9_000)
  expect(await played(['late'])).toMatchObject({ recordedCount: 0 })
  opened.clock.advance(500)
  expect(await played(['late'])).toMatchObject({ recordedCount: 1 })
})

test('issues beyond the rate of a business are refused, and do not use up its plays', async () => {
  const { opened, played, issued } = serve({ issuesPerSecondMax: 2 })
  expect(await issued(ids(2))).toMatchObject({ recorded: true })
  expect(await issued(['late'])).toMatchObject({ recorded: false, userErrors: [{ code: 'QUOTA_EXCEEDED' }] })
  expect((await opened.plain.hot.getSeen('7', 1)).issued).toHaveLength(2)
  expect(await issued(ids(50), 'article')).toMatchObject({ recorded: true })
  expect(await played(ids(50))).toMatchObject({ recordedCount: 50 })
})
