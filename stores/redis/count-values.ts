/** What stands in the keys of the count cache: whole numbers as text, with commas in between. */
import type { BusinessNumber, OwnerSum, SubjectCounts, ViewerId } from '../../core/domain.ts'

export function decodeCounts(counts: Buffer | null | undefined, version: Buffer | null | undefined): SubjectCounts | undefined {
  if (!counts || !version) return undefined
  const [likes = 0, dislikes = 0] = numbersOf(counts)
  return { likes, dislikes, version: Number(String(version)) }
}

/** As `put-counts.lua` publishes. */
export function decodeChange(message: Buffer): SubjectCounts {
  const [likes = 0, dislikes = 0, version = 0] = numbersOf(message)
  return { likes, dislikes, version }
}

export function decodeOwnerSum(value: Buffer | null | undefined): Pick<OwnerSum, 'likes' | 'version'> | undefined {
  if (!value) return undefined
  const [likes = 0, version = 0] = numbersOf(value)
  return { likes, version }
}

export function decodeLikersVersion(value: Buffer): { version: number; whole: boolean } {
  const [version = 0, whole = 0] = numbersOf(value)
  return { version, whole: whole === 1 }
}

export type OwnerKey = { business: BusinessNumber; owner: ViewerId }

function numbersOf(value: Buffer): number[] {
  return String(value).split(',').map(Number)
}
