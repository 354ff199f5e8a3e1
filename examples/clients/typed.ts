/** Typed operations by graphql-codegen, sent with `fetch`: `node typed.ts http://localhost:4000/graphql`. */
import type { TypedDocumentNode } from '@graphql-typed-document-node/core'
import { print } from 'graphql'
import { graphql } from './generated/gql.ts'
import { headersOf, URL_OF_API } from './story.ts'

const SUBJECTS = graphql(`
  query TypedSubjects($ids: [ID!]!) {
    subjects(business: "video", ids: $ids) {
      id
      likeCount
      viewerMark
      viewerProgress {
        position
        viewedAt
      }
    }
  }
`)

const REPORT = graphql(`
  mutation TypedReport($input: ReportProgressInput!) {
    reportProgress(input: $input) {
      outcome
      userErrors {
        code
        message
        path
      }
    }
  }
`)

async function call<T, V>(document: TypedDocumentNode<T, V>, variables: V): Promise<T> {
  const headers = { 'content-type': 'application/json', accept: 'application/json', ...headersOf('typed') }
  const response = await fetch(URL_OF_API, { method: 'POST', headers, body: JSON.stringify({ query: print(document), variables }) })
  const { data, errors } = (await response.json()) as { data: T; errors?: { message: string }[] }
  if (errors !== undefined) throw new Error(errors[0]?.message)
  return data
}

const { reportProgress } = await call(REPORT, { input: { business: 'video', id: '42', position: 60_000 } })
if (reportProgress?.outcome !== 'ACCEPTED') throw new Error(reportProgress?.userErrors[0]?.message)
const { subjects } = await call(SUBJECTS, { ids: ['42'] })
for (const subject of subjects ?? []) {
  const viewedAt: number | undefined = subject?.viewerProgress?.viewedAt
  console.log(
    `${subject?.id}: at ${subject?.viewerProgress?.position}, seen ${new Date(viewedAt ?? 0).toISOString()}, ${subject?.likeCount} likes`,
  )
}
