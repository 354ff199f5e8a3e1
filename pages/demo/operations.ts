/** Operations on videos and posts alike, and the types of their answers. Everything here is in the public API. */

export type Progress = { position: number; duration: number; viewedAt: number; device: string | null; finished: boolean }

export type Subject = {
  id: string
  likeCount?: number | null
  viewerMark?: 'NONE' | 'LIKE' | 'DISLIKE' | null
  viewerProgress?: Progress | null
  repostCount?: number | null
}

export type UserErrors = { userErrors: readonly { code: string; message: string }[] }

export const PROGRESS = 'viewerProgress { position duration viewedAt device finished }'
export const CARD = `id likeCount viewerMark ${PROGRESS}`

export const SUBJECTS = `query Subjects($business: String!, $ids: [ID!]!) { subjects(business: $business, ids: $ids) { ${CARD} } }`
export type Subjects = { subjects: (Subject | null)[] | null }

export const MARK = `mutation SetMark($business: String!, $id: ID!, $mark: Mark!) {
  setMark(input: { business: $business, id: $id, mark: $mark, source: "demo" }) { outcome subject { id likeCount viewerMark } userErrors { code message } }
}`
export type SetMark = { setMark: ({ outcome: string; subject: Subject | null } & UserErrors) | null }

export const MARKS = `mutation Marks($marks: [SetMarkInput!]!) { setMarkBatch(input: { marks: $marks }) { results { outcome } userErrors { code message } } }`
export type Marks = { setMarkBatch: ({ results: { outcome: string }[] } & UserErrors) | null }

export const COUNTS = `subscription Counts($business: String!, $ids: [ID!]!) { countsChanged(business: $business, ids: $ids) { subjects { id likeCount } } }`
export type Counts = { countsChanged: { subjects: Subject[] } | null }
