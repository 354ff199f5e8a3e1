/**
 * Before version 1, the public schema had other names. If an operation uses one of them, its validation error names the successor. The table
 * has only names of Tidemark's own types, and a successor is named only if the served graph has it.
 *
 * graphql-js reports the wrong name only in a sentence, so the coordinate is parsed from the sentence.
 */
import { GraphQLError } from 'graphql'
import type { GraphQLSchema } from 'graphql'

/** The coordinate of the successor, which must be in the graph, and what to write instead. */
type Successor = readonly [now: string, write: string]

const MARKS = 'subjects(business:, ids:) { likeCount dislikeCount viewerMark }'
const INPUT = (...names: string[]) => `input: { ${names.map((name) => `${name}:`).join(', ')} }`

/** By coordinate, as in the GraphQL specification: `Type`, `Type.field`, `Type.field(argument:)`. */
export const OLD_NAMES: Readonly<Record<string, Successor>> = {
  'Query.thumbups': ['Query.subjects', MARKS],
  'Query.progress': ['Query.subjects', 'subjects(business:, ids:) { viewerProgress { position } }'],
  'Query.seen': ['Query.subjects', 'subjects(business:, ids:) { viewerSeen }'],
  'Mutation.mark': ['Mutation.setMark', `setMark(${INPUT('business', 'id', 'mark')}) { outcome userErrors { message } }`],
  'Mutation.markBatch': ['Mutation.setMarkBatch', 'setMarkBatch(input: { marks: [] }) { results { outcome } }'],
  'Mutation.pauseHistory': ['Mutation.updateHistorySettings', 'updateHistorySettings(input: { paused: true }) { settings { paused } }'],
  'Mutation.resumeHistory': ['Mutation.updateHistorySettings', 'updateHistorySettings(input: { paused: false }) { settings { paused } }'],

  'Mutation.reportProgressBatch(inputs:)': ['ReportProgressBatchInput.reports', 'input: { reports: [] }'],
  'Mutation.registerSubjects(inputs:)': ['RegisterSubjectsInput.subjects', INPUT('business', 'subjects')],
  'Mutation.registerSubjects(business:)': ['RegisterSubjectsInput.business', INPUT('business', 'subjects')],
  'Mutation.deleteHistory(business:)': ['DeleteHistoryInput.business', INPUT('business', 'ids')],
  'Mutation.deleteHistory(ids:)': ['DeleteHistoryInput.ids', INPUT('business', 'ids')],
  'Mutation.clearHistory(business:)': ['ClearHistoryInput.business', INPUT('business')],
  'Mutation.recordIssued(business:)': ['RecordIssuedInput.business', INPUT('business', 'ids')],
  'Mutation.recordIssued(ids:)': ['RecordIssuedInput.ids', INPUT('business', 'ids')],
  'Mutation.recordIssued(dayToken:)': ['RecordIssuedInput.dayToken', INPUT('business', 'ids', 'dayToken')],
  'Mutation.recordPlayed(business:)': ['RecordPlayedInput.business', INPUT('business', 'ids')],
  'Mutation.recordPlayed(ids:)': ['RecordPlayedInput.ids', INPUT('business', 'ids')],
  'Mutation.recordPlayed(playedAt:)': ['RecordPlayedInput.playedAt', INPUT('business', 'ids', 'playedAt')],
  'Mutation.recordPlayed(dayToken:)': ['RecordPlayedInput.dayToken', INPUT('business', 'ids', 'dayToken')],

  ProgressInput: ['ReportProgressInput', 'ReportProgressInput'],
  MarkInput: ['SetMarkInput', 'SetMarkInput'],
  SubjectInput: ['RegisterSubjectInput', 'RegisterSubjectInput'],
  'ReportProgressInput.oid': ['ReportProgressInput.id', 'id'],

  HistoryEntry: ['Subject', 'Subject: the nodes of a history are subjects'],
  Like: ['Subject', 'Subject: the nodes of a list of likes are subjects'],
  Thumbup: ['Subject', 'Subject'],
  Seen: ['Subject', 'Subject'],
  ChangedCounts: ['Subject', 'Subject'],
  MarkPayload: ['SetMarkPayload', 'SetMarkPayload'],
  RegisterPayload: ['RegisteredSubject', 'RegisteredSubject'],

  'Subject.oid': ['Subject.id', 'id'],
  'Subject.subject': ['Subject', 'the fields of the subject: the node is the subject itself'],
  'Subject.position': ['Subject.viewerProgress', 'viewerProgress { position }'],
  'Subject.duration': ['Subject.viewerProgress', 'viewerProgress { duration }'],
  'Subject.device': ['Subject.viewerProgress', 'viewerProgress { device }'],
  'Subject.finished': ['Subject.viewerProgress', 'viewerProgress { finished }'],
  'Subject.viewedAt': ['HistoryEdge.viewedAt', 'edges { viewedAt }, or viewerProgress { viewedAt }'],
  'Subject.markedAt': ['LikeEdge.markedAt', 'edges { markedAt }'],
  'Progress.business': ['Subject.business', '`business` of the subject'],
  'Progress.oid': ['Subject.id', '`id` of the subject'],

  'ReportProgressPayload.code': ['ReportProgressPayload.userErrors', 'userErrors { code }'],
  'ReportProgressPayload.message': ['ReportProgressPayload.userErrors', 'userErrors { message }'],
  'ReportProgressBatchPayload.outcome': ['ReportProgressBatchPayload.results', 'results { outcome }'],
  'ReportProgressBatchPayload.progress': ['ReportProgressBatchPayload.results', 'results { progress { position } }'],
  'ReportProgressBatchPayload.code': ['ReportProgressBatchPayload.results', 'results { userErrors { code } }'],
  'ReportProgressBatchPayload.message': ['ReportProgressBatchPayload.results', 'results { userErrors { message } }'],
  'ProgressChange.oid': ['ProgressChange.subject', 'subject { id }'],
  'ProgressChange.progress': ['ProgressChange.subject', 'subject { viewerProgress { position } }'],
  'RecordPlayedPayload.recorded': ['RecordPlayedPayload.recordedCount', 'recordedCount'],

  'SetMarkPayload.code': ['SetMarkPayload.userErrors', 'userErrors { code }'],
  'SetMarkPayload.message': ['SetMarkPayload.userErrors', 'userErrors { message }'],
  'SetMarkPayload.newMark': ['SetMarkPayload.mark', 'mark'],
  'SetMarkPayload.likeCount': ['SetMarkPayload.subject', 'subject { likeCount }'],
  'SetMarkPayload.dislikeCount': ['SetMarkPayload.subject', 'subject { dislikeCount }'],
  'RegisterSubjectsPayload.id': ['RegisterSubjectsPayload.results', 'results { subject { id } }'],
  'RegisterSubjectsPayload.registered': ['RegisterSubjectsPayload.results', 'results { registered }'],
  'RegisterSubjectsPayload.code': ['RegisterSubjectsPayload.results', 'results { userErrors { code } }'],
  'RegisterSubjectsPayload.message': ['RegisterSubjectsPayload.results', 'results { userErrors { message } }'],
  'CountsChange.business': ['CountsChange.subjects', 'subjects { business }'],
  'CountsChange.counts': ['CountsChange.subjects', 'subjects { id likeCount dislikeCount }'],
  'CountDrift.id': ['CountDrift.subject', 'subject { id }'],
}

/** The error with the successor of an old name in its sentence. Other errors stay as they are. */
export function withSuccessor(error: GraphQLError, schema: GraphQLSchema): GraphQLError {
  const successor = OLD_NAMES[coordinateOf(error.message) ?? '']
  if (successor === undefined || !hasPlace(schema, successor[0])) return error
  const sentence = error.message.replace(/ Did you mean [^?]*\?$/, '')
  const { nodes = null, source = null, positions = null, path = null, originalError = null, extensions } = error
  const message = `${sentence} Since version 1 of the schema, write ${successor[1]}`
  return new GraphQLError(message, { nodes, source, positions, path, originalError, extensions })
}

/** By the words of graphql-js 16. */
const SENTENCES: readonly (readonly [RegExp, (first: string, second: string) => string])[] = [
  [/^Cannot query field "(\w+)" on type "(\w+)"/, (field, type) => `${type}.${field}`],
  [/^Unknown argument "(\w+)" on field "(\w+\.\w+)"/, (argument, field) => `${field}(${argument}:)`],
  [/Field "(\w+)" is not defined by type "(\w+)"/, (field, type) => `${type}.${field}`],
  [/^Unknown type "(\w+)"/, (type) => type],
]

function coordinateOf(message: string): string | undefined {
  for (const [sentence, place] of SENTENCES) {
    const [, first, second] = sentence.exec(message) ?? []
    if (first !== undefined) return place(first, second ?? '')
  }
  return undefined
}

function hasPlace(schema: GraphQLSchema, coordinate: string): boolean {
  const [name = '', field] = coordinate.split('.')
  const type = schema.getType(name)
  return type !== undefined && (field === undefined || ('getFields' in type && type.getFields()[field] !== undefined))
}
