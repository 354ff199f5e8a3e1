import { buildASTSchema, buildSchema, parse } from 'graphql'
import { expect, test } from 'vitest'
import { violationsOf } from '../../scripts/schema-rules.ts'

const SOUND = `
  "Milliseconds." scalar Timestamp @specifiedBy(url: "https://example.com/timestamp")
  "What became of it. New values may be added." enum Outcome { "It is stored." ACCEPTED }
  "The codes. New values may be added." enum UserErrorCode { "An id is empty." ID_INVALID }
  "A mistake." type UserError { "The code." code: UserErrorCode! "A sentence." message: String! "The field." path: [String!]! }
  "A subject." type Video { "The id." id: ID! "When." at: Timestamp "Its users." fans("At most." first: Int! = 20, "The cursor." after: String): FanConnection }
  "A progress." type Progress { "Identifies it for caches." id: ID! }
  "A user." type User { "Unique among users." id: ID! "The old name." old: String @deprecated(reason: "Use id.") }
  "A page." type FanConnection { "The entries." edges: [FanEdge!]! "The place." pageInfo: PageInfo! }
  "An entry." type FanEdge { "The place." cursor: String! "The user." node: User }
  "The place." type PageInfo { "On?" hasNextPage: Boolean! "Back?" hasPreviousPage: Boolean! "First." startCursor: String "Last." endCursor: String }
  "A mark." input SetMarkInput { "The subject." id: ID! }
  "The answer." type SetMarkPayload { "What." outcome: Outcome "Mistakes." userErrors: [UserError!]! "Removed." deletedIds: [ID!]! }
  type Query { "A video." video("Its id." id: ID!): Video }
  type Mutation { "Sets a mark." setMark("The mark." input: SetMarkInput!): SetMarkPayload }
  type Subscription { "Changes." changed: Video }`

const violations = (sdl: string) => violationsOf(buildSchema(sdl), new Set(['Video']))

test('a sound schema has no violation', () => {
  expect(violations(SOUND)).toEqual([])
})

test.each([
  ['"A subject." type Video', 'type Video', 'Video: describe the type'],
  ['"When." at', '" " at', 'Video.at: describe the field'],
  ['{ "The subject." id', '{ id', 'SetMarkInput.id: describe the field'],
  ['"Its id." id: ID!', 'id: ID!', 'Query.video(id:): describe the argument'],
  ['"The mark." input', 'input', 'Mutation.setMark(input:): describe the argument'],
  ['"It is stored." ACCEPTED', 'ACCEPTED', 'Outcome.ACCEPTED: describe the value'],
  ['@deprecated(reason: "Use id.")', '@deprecated', 'User.old: say in the reason of @deprecated what to use instead'],
  ['"When." at', '"When." oid: ID "When." at', 'Video.oid: call it id: ids have one name'],
  ['id: ID!): Video', 'videoId: ID!): Video', 'Query.videoId: call it id: ids have one name'],
  [
    '"Identifies it for caches."',
    '"The id."',
    'Progress.id: client caches identify objects by type and id: say in the description that it is unique, or remove it',
  ],
  [' @specifiedBy(url: "https://example.com/timestamp")', '', 'Timestamp: give the scalar @specifiedBy'],
  [
    '"What became of it. New values may be added."',
    '"What became of it."',
    'Outcome: say in the description that "New values may be added", and how to treat an unknown one',
  ],
  ['): Video', '): Video!', 'Query.video: make it nullable: its failure would remove the data of other root fields'],
  ['changed: Video', 'changed: Video!', 'Subscription.changed: make it nullable: its failure would remove the data of other root fields'],
  ['input: SetMarkInput!', 'id: ID!', 'Mutation.setMark: take one argument, input: SetMarkInput!'],
  ['input: SetMarkInput!', 'input: SetMarkInput', 'Mutation.setMark: take one argument, input: SetMarkInput!'],
  ['input: SetMarkInput!', 'input: SetMarkInput!, "More." more: Int', 'Mutation.setMark: take one argument, input: SetMarkInput!'],
  ['): SetMarkPayload', '): Video', 'Mutation.setMark: return SetMarkPayload'],
  ['userErrors: [UserError!]!', 'userErrors: [UserError!]', 'SetMarkPayload: have userErrors: [UserError!]!'],
  ['code: UserErrorCode!', 'code: String!', 'UserError: have code (an enum), message: String! and path: [String!]!'],
  ['edges: [FanEdge!]!', 'edges: [User!]!', 'FanConnection: have edges: [FanEdge!]!'],
  ['cursor: String!', 'cursor: String', 'FanEdge: have cursor: String!'],
  ['node: User', 'node: [User]', 'FanEdge: have one object as node'],
  ['hasPreviousPage: Boolean!', 'hasPreviousPage: Boolean', 'PageInfo: have hasPreviousPage: Boolean!'],
  ['"At most." first: Int! = 20, ', '', 'Video.fans: take first: Int and after: String, and return PageInfo'],
])('"%s" as "%s" is a violation', (sound, planted, violation) => {
  expect(SOUND).toContain(sound)
  expect(violations(SOUND.replace(sound, planted))).toEqual([violation])
})

test('the machinery of federation is left out', () => {
  const sdl = `${SOUND} enum CacheControlScope { PUBLIC } directive @key(fields: String) on OBJECT`
  expect(violationsOf(buildASTSchema(parse(sdl), { assumeValidSDL: true }), new Set(['Video']))).toEqual([])
})
