/**
 * The part of `tidemark inspect viewer` for feed existence: seen subjects in words, and filters as files. It reads past every cache.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Businesses } from '../config/businesses.ts'
import type { ViewerId } from '../core/domain.ts'
import { TidemarkError, isTidemarkError } from '../core/errors.ts'
import { makeFolder } from '../stores/lmdb/make-folder.ts'
import type { SeenStores } from '../subgraphs/feed-existence/stores/guarded.ts'
import { LISTED, MARK_MONTH, decodeMark, isMark, listedBusiness, lostPlaysOf } from '../subgraphs/feed-existence/migration/progress.ts'
import { measureFilter } from '../subgraphs/feed-existence/filter/filter.ts'
import { monthText } from '../subgraphs/feed-existence/model/time-ring.ts'
import type { QuarantinedFilter, StoredFilter } from '../subgraphs/feed-existence/stores/record-store.ts'

const ASIDE_MAX = 100

/** One sentence per fact. Empty if nothing is stored about the viewer. */
export async function seenLines(
  { hot, records }: Pick<SeenStores, 'hot' | 'records'>,
  viewer: ViewerId,
  businesses: Businesses,
): Promise<string[]> {
  const nameOf = (number: number): string => businesses.byNumber(number)?.name ?? String(number)
  const lines: string[] = []
  const [listed, ...seen] = await hot.getSeenMany([LISTED, ...businesses.numbers].map((business) => ({ viewer, business })))
  seen.forEach(({ issued, staged }, at) => {
    const name = nameOf(businesses.numbers[at] as number)
    if (issued.length + staged.length > 0) lines.push(`${name}: ${issued.length} served lately, ${staged.length} played and not yet folded`)
  })
  const moving = (listed?.staged ?? []).map((listing) => nameOf(listedBusiness(listing)))
  if (moving.length > 0)
    lines.push(`listed for the migration; the job folds the plays in when the hour is over: ${moving.toSorted().join(', ')}`)
  const [filters = []] = await records.listFilters([viewer])
  for (const { month, filter, version } of filters) {
    if (month === MARK_MONTH) lines.push(...linesOfMark(filter, nameOf))
    else lines.push(`filter of ${monthText(month)}: ${wordsOf(filter)}, version ${version}`)
  }
  const aside = await records.listQuarantined(ASIDE_MAX, viewer)
  return [...lines, ...aside.map((each) => `quarantined: ${sentenceOfAside(each)}`)]
}

/** Writes the filters as they are stored, for other programs. Throws CONFIG_INVALID if the folder cannot be written to. */
export async function writeFilters(
  { records }: Pick<SeenStores, 'records'>,
  viewer: ViewerId,
  folder: string,
  print: (line: string) => void,
): Promise<void> {
  const [stored = []] = await records.listFilters([viewer])
  const filters = stored.filter(({ month }) => month !== MARK_MONTH)
  if (filters.length === 0) print('there is no filter to write: plays are folded into filters after the end of their hour')
  for (const { month, filter } of filters) {
    const path = join(folder, `${monthText(month)}.filter`)
    try {
      makeFolder(folder)
      writeFileSync(path, filter)
    } catch (error) {
      const message = `--filters ${folder} cannot be written to (${(error as Error).message}): name another folder`
      throw new TidemarkError('CONFIG_INVALID', message, { cause: error })
    }
    print(`wrote ${path}`)
  }
}

/** An empty mark prints nothing: a rebuilt filter has one even if the viewer was never listed. */
function linesOfMark(bytes: Buffer, nameOf: (business: number) => string): string[] {
  if (!isMark(bytes)) return ['the migration mark is damaged: the viewer counts as not migrated']
  const moved = Array.from(decodeMark(bytes), ([business, { plays }]) => `${nameOf(business)} (${plays} plays)`)
  const again = Array.from(lostPlaysOf(bytes), ([business, plays]) => `${nameOf(business)} (${plays} plays before)`)
  return [
    ...(moved.length > 0 ? [`migrated from the legacy store: ${moved.join(', ')}`] : []),
    ...(again.length > 0 ? [`to be migrated again, because a filter was damaged: ${again.join(', ')}`] : []),
  ]
}

/** One line about a quarantined filter. Its rebuilt successor is listed with the filters. */
export function sentenceOfAside({ month, filter, version, reason }: QuarantinedFilter): string {
  const what = month === MARK_MONTH ? 'migration mark' : `filter of ${monthText(month)}`
  return `${what}, version ${version}, ${filter.length} bytes: ${reason || 'the reason cannot be read'}`
}

function wordsOf(filter: StoredFilter['filter']): string {
  try {
    return `${measureFilter(filter).records} records, ${filter.length} bytes`
  } catch (error) {
    return `${filter.length} bytes that cannot be read (${isTidemarkError(error) ? error.code : 'INTERNAL'})`
  }
}
