/** A page of a home feed as the peers answer it: the fields that the product's operation asks for. */
export type PeerPage = { posts: PeerPost[]; endCursor: string | undefined }

export type PeerPost = {
  id: string
  text: string
  media: readonly string[]
  author: { id: string; followerCount: number }
  source: { id: string; text: string; author: { id: string } } | null
  likeCount: number
  repostCount: number
  commentCount: number
  readCount: number
  viewerMark: 'LIKE' | 'NONE'
  viewerSeen: boolean
}

export const PAGE_SIZE = 20
