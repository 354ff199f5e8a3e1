/** The answers of the mutations and of `subjects`: entities as the viewer now sees them, and mistakes as data. */
import type { GraphQLEnumType } from 'graphql'
import { describe, expect, test } from 'vitest'
import { makeEngine } from '../../../gateway/operation/engine.ts'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { localTransport } from '../../../gateway/transports/local-transport.ts'
import { closedAfterEach } from './closed-after-each.ts'
import { DAY, viewerOf, type Answer } from './opened.ts'

const { open, startJob } = closedAfterEach()
const viewer = viewerOf('7')
const SUBJECTS = 'subjects { __typename id business viewerSeen }'
const ISSUE = `mutation ($input: RecordIssuedInput!) { recordIssued(input: $input) {
  recorded dayToken firstOfDay userErrors { code message path } ${SUBJECTS} } }`
const PLAY = `mutation ($input: RecordPlayedInput!) { recordPlayed(input: $input) {
  recordedCount visible dayToken firstOfDay userErrors { code message path } ${SUBJECTS} } }`
const LOOK_UP = 'query ($business: String!, $ids: [ID!]!) { subjects(business: $business, ids: $ids) { id viewerSeen } }'
const video = (id: string, viewerSeen: string | null) => ({ __typename: 'Video', id, business: 'video', viewerSeen })

describe('a mutation returns its subjects as the viewer now sees them', () => {
  test('after an issue: played ones stay played, and a repeated id is repeated', async () => {
    const { opened, served } = open()
    const job = await startJob(opened, served)
    await served.play('7', ['folded'])
    await served.afterHours(job)
    await served.play('7', ['staged'])
    const input = { business: 'video', ids: ['folded', 'staged', 'new', 'new'] }
    const { data, errors } = await served.ask(ISSUE, viewer, { input })
    expect(errors).toEqual([])
    expect(data.recordIssued).toMatchObject({
      recorded: true,
      userErrors: [],
      subjects: [video('folded', 'PLAYED_PROBABLY'), video('staged', 'PLAYED'), video('new', 'ISSUED'), video('new', 'ISSUED')],
    })
  })

  test('after a play, also while the hot store is down, and without a read', async () => {
    const { opened, served } = open()
    for (const isDown of [false, true]) {
      opened.set('hot', isDown)
      opened.calls.length = 0
      const { data, degraded } = await served.ask(PLAY, viewer, { input: { business: 'video', ids: ['a', 'b', 'a'] } })
      expect(data.recordPlayed).toMatchObject({
        recordedCount: 2,
        visible: !isDown,
        userErrors: [],
        subjects: [video('a', 'PLAYED'), video('b', 'PLAYED'), video('a', 'PLAYED')],
      })
      expect(degraded).toEqual(isDown ? ['hotStore'] : [])
      expect([opened.count('hot.getSeenMany'), opened.count('records.getFilters')]).toEqual([0, 0])
    }
    expect(await served.reasons('7', ['a', 'b', 'c'])).toEqual(['PLAYED', 'PLAYED', null])
  })

  test('an issue that is not recorded leaves its subjects unseen', async () => {
    const { opened, served } = open()
    opened.set('hot', true)
    const { data, errors, degraded } = await served.ask(ISSUE, viewer, { input: { business: 'video', ids: ['a'] } })
    expect([errors, degraded]).toEqual([[], ['hotStore']])
    expect(data.recordIssued).toMatchObject({ recorded: false, userErrors: [], subjects: [video('a', null)] })
  })

  test('values that the same request read before are read again', async () => {
    const { served } = open()
    const issue = (ids: string) => `recordIssued(input: { business: "video", ids: ${ids} }) { ${SUBJECTS} }`
    const play = `recordPlayed(input: { business: "video", ids: ["a"] }) { ${SUBJECTS} }`
    const { data } = await served.ask(`mutation { first: ${issue('["a"]')} second: ${play} last: ${issue('["a", "b"]')} }`, viewer)
    expect(data).toEqual({
      first: { subjects: [video('a', 'ISSUED')] },
      second: { subjects: [video('a', 'PLAYED')] },
      last: { subjects: [video('a', 'PLAYED'), video('b', 'ISSUED')] },
    })
  })
})

describe('a mistake in an input', () => {
  const codesOf = ({ data, errors }: Answer) => {
    expect(errors).toEqual([])
    const { userErrors, ...rest } = Object.values(data)[0] as { userErrors: { code: string; path: string[]; message: string }[] }
    expect(userErrors).toHaveLength(1)
    expect(userErrors[0]?.message).toMatch(/\S{2,}.*: .*\w{2,}/)
    expect(rest).toMatchObject({ subjects: [], dayToken: null, firstOfDay: false })
    return [userErrors[0]?.code, userErrors[0]?.path]
  }
  const many = Array.from({ length: 201 }, (_, id) => String(id))

  test('is data with its code and path, records nothing, and the enum has exactly these codes', async () => {
    const { opened, served } = open({}, { stagedMax: 3, stagedHardMax: 3 })
    const ask = (query: string, input: object) => served.ask(query, viewer, { input: { business: 'video', ids: ['1'], ...input } })
    const found: unknown[][] = []
    for (const query of [ISSUE, PLAY]) {
      found.push(codesOf(await ask(query, { business: 'vidoe' })))
      found.push(codesOf(await ask(query, { ids: ['1', ''] })))
      found.push(codesOf(await ask(query, { ids: many })))
    }
    found.push(codesOf(await ask(PLAY, { playedAt: opened.clock.now() + DAY })))
    expect(await served.unseen('7', ['1'])).toEqual(['1'])
    opened.set('records', true)
    await served.play('7', ['a', 'b', 'c'])
    found.push(codesOf(await ask(PLAY, {})))
    expect((await served.ask('{ unseen(business: "video", candidates: ["1"]) { ids } }', viewer)).data.unseen.ids).toEqual(['1'])
    const wrong = [
      ['BUSINESS_UNKNOWN', ['input', 'business']],
      ['ID_INVALID', ['input', 'ids', '1']],
      ['IDS_TOO_MANY', ['input', 'ids']],
    ]
    expect(found).toEqual([...wrong, ...wrong, ['PLAYED_AT_INVALID', ['input', 'playedAt']], ['PLAYS_TOO_MANY', ['input']]])
    // test/subgraphs/feed-existence/quotas.test.ts has the quotas of a business.
    found.push(['QUOTA_EXCEEDED'])
    // test/cli/configuration/processes.long.test.ts has a business that is disabled.
    found.push(['BUSINESS_DISABLED'])
    const { subgraph } = served
    const codes = (subgraph.schema.getType('UserErrorCode') as GraphQLEnumType).getValues().map(({ name }) => name)
    expect(new Set(codes)).toEqual(new Set(found.map(([code]) => code)))
  })

  test('leaves what another mutation of the request records', async () => {
    const { served } = open()
    const { data, errors } = await served.ask(
      `mutation { bad: recordPlayed(input: { business: "video", ids: [""] }) { recordedCount visible userErrors { code } }
        good: recordPlayed(input: { business: "video", ids: ["1"] }) { recordedCount visible userErrors { code } } }`,
      viewer,
    )
    expect([data, errors]).toEqual([
      {
        bad: { recordedCount: 0, visible: false, userErrors: [{ code: 'ID_INVALID' }] },
        good: { recordedCount: 1, visible: true, userErrors: [] },
      },
      [],
    ])
  })
})

describe('a failure costs one field', () => {
  test.each([
    ['an anonymous caller', undefined, 'UNAUTHENTICATED', 'unseen(business: "video", candidates: ["1"]) { ids }'],
    ['an unknown business', viewer, 'BUSINESS_UNKNOWN', 'unseen(business: "vidoe", candidates: ["1"]) { ids }'],
    ['a missing scope', viewer, 'FORBIDDEN', 'whyHidden(business: "video", id: "1", viewer: "7") { hidden }'],
    ['too many ids', viewer, 'IDS_TOO_MANY', `subjects(business: "video", ids: ${JSON.stringify(Array(201).fill('1'))}) { id }`],
  ])('%s', async (_, asker, code, field) => {
    const { data, errors } = await open().served.ask(`{ failing: ${field} subjects(business: "video", ids: ["2"]) { id } }`, asker)
    expect(data).toEqual({ failing: null, subjects: [{ id: '2' }] })
    expect(errors).toMatchObject([{ code }])
  })

  test('each mutation of an anonymous caller is null with an error of its own', async () => {
    const { data, errors } = await open().served.ask(
      'mutation { recordIssued(input: { business: "video", ids: ["1"] }) { recorded } recordPlayed(input: { business: "video", ids: ["1"] }) { visible } }',
    )
    expect(data).toEqual({ recordIssued: null, recordPlayed: null })
    expect(errors).toMatchObject([{ code: 'UNAUTHENTICATED' }, { code: 'UNAUTHENTICATED' }])
  })

  test('an invalid id in `subjects` is null at its place', async () => {
    const { served } = open()
    await served.play('7', ['1'])
    const ids = ['1', '', '3', 'x'.repeat(65)]
    const { data, errors } = await served.ask(LOOK_UP, viewer, { business: 'video', ids })
    expect(data.subjects).toEqual([{ id: '1', viewerSeen: 'PLAYED' }, null, { id: '3', viewerSeen: null }, null])
    expect(errors).toMatchObject([{ code: 'ID_INVALID' }, { code: 'ID_INVALID' }])
  })
})

describe('by compiled code, as a gateway runs it', () => {
  test('unseen, subjects and mutations answer with entities, and an invalid id is null at its place', async () => {
    const { served } = open()
    const { subgraph } = served
    const engine = makeEngine(
      composeSupergraph([{ name: 'feed-existence', sdl: subgraph.sdl }]),
      [{ name: 'feed-existence', transport: localTransport(subgraph.schema) }],
      { tokensMax: 1_000 },
    )
    const ask = async (query: string, variables: object) => {
      const operation = engine.prepare(query)
      if ('errors' in operation) throw operation.errors[0]
      const degraded = new Set<never>()
      const context = { viewer, degraded, loaders: subgraph.makeLoaders(degraded) }
      return JSON.parse(JSON.stringify(await operation.execute({ ...variables }, context)))
    }
    const played = await ask(PLAY, { input: { business: 'video', ids: ['b'] } })
    expect(played.data.recordPlayed).toMatchObject({ recordedCount: 1, userErrors: [], subjects: [video('b', 'PLAYED')] })
    const issued = await ask(ISSUE, { input: { business: 'video', ids: ['b', 'c'] } })
    expect(issued.data.recordIssued).toMatchObject({ recorded: true, subjects: [video('b', 'PLAYED'), video('c', 'ISSUED')] })
    const refused = await ask(ISSUE, { input: { business: 'video', ids: ['c', ''] } })
    expect(refused).toMatchObject({ data: { recordIssued: { recorded: false, userErrors: [{ code: 'ID_INVALID' }], subjects: [] } } })
    const unseen = await ask(`query ($of: [ID!]!) { unseen(business: "video", candidates: $of) { ids ${SUBJECTS} } }`, {
      of: ['d', 'b', 'a', 'c', 'd'],
    })
    expect(unseen).toEqual({ data: { unseen: { ids: ['d', 'a'], subjects: [video('d', null), video('a', null)] } } })
    const { data, errors } = await ask(LOOK_UP, { business: 'video', ids: ['b', '', 'c'] })
    expect(data).toEqual({ subjects: [{ id: 'b', viewerSeen: 'PLAYED' }, null, { id: 'c', viewerSeen: 'ISSUED' }] })
    expect(errors).toMatchObject([{ path: ['subjects', 1], extensions: { code: 'ID_INVALID' } }])
  })
})
