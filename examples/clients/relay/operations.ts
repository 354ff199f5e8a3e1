/** The operations of the Relay example. relay-compiler reads them here and writes `__generated__`, which the program imports. */
import { graphql } from 'relay-runtime'

export const page = graphql`
  query operationsPageQuery($videos: [ID!]!, $articles: [ID!]!) {
    videos: subjects(business: "video", ids: $videos) {
      ...operations_card @relay(mask: false)
    }
    articles: subjects(business: "article", ids: $articles) {
      ...operations_card @relay(mask: false)
    }
  }
`

export const card = graphql`
  fragment operations_card on Subject {
    id
    business
    likeCount
    viewerMark
    viewerProgress {
      position
      finished
    }
  }
`

export const like = graphql`
  mutation operationsLikeMutation($business: String!, $id: ID!) {
    setMark(input: { business: $business, id: $id, mark: LIKE }) {
      outcome
      userErrors {
        code
        message
      }
      subject {
        id
        likeCount
        viewerMark
      }
    }
  }
`

export const report = graphql`
  mutation operationsReportMutation($business: String!, $id: ID!, $position: Float!) {
    reportProgress(input: { business: $business, id: $id, position: $position, duration: 600000 }) {
      outcome
      userErrors {
        code
        message
      }
      subject {
        id
        viewerProgress {
          position
          finished
        }
      }
    }
  }
`

export const remove = graphql`
  mutation operationsRemoveMutation($business: String!, $ids: [ID!]!) {
    deleteHistory(input: { business: $business, ids: $ids }) {
      userErrors {
        code
        message
      }
      subjects {
        id
        viewerProgress {
          position
          finished
        }
      }
    }
  }
`

export const follow = graphql`
  subscription operationsFollowSubscription {
    progressChanged {
      kind
      token
      subject {
        id
        viewerProgress {
          position
          finished
        }
      }
    }
  }
`
