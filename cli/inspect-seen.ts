/** What the stores hold of what a viewer has seen, as `tidemark inspect viewer` prints it: past every cache. */
import type { Businesses } from '../core/businesses.ts'
import type { ViewerId } from '../core/domain.ts'
import { isTidemarkError } from '../core/errors.ts'
import type { SeenStores } from '../core/guarded-seen-stores.ts'
import { MARK_MONTH, decodeMark } from '../core/migration-mark.ts'
import { measureFilter } from '../core/seen-filter.ts'
import { monthText } from '../core/time-ring.ts'
import type { QuarantinedFilter, StoredFilter } from '../stores/seen-records.ts'

const ASIDE_MAX = 100

export async function inspectSeen(
  { hot, records }: Pick<SeenStores, 'hot' | 'records'>,
  viewer: ViewerId,
  businesses: Businesses,
  print: (line: string) => void,
): Promise<void> {
  const nameOf = (number: number): string => businesses.byNumber(number)?.name ?? String(number)
  const seen = await hot.getSeenMany(businesses.numbers.map((business) => ({ viewer, business })))
  seen.forEach(({ issued, staged }, at) => {
    const name = nameOf(businesses.numbers[at] as number)
    if (issued.length + staged.length > 0) print(`${name}: ${issued.length} served lately, ${staged.length} played and not yet folded`)
  })
  const [filters = []] = await records.listFilters([viewer])
  const aside = await records.listQuarantined(ASIDE_MAX, viewer)
  for (const { month, filter, version } of filters) {
    if (month === MARK_MONTH) print(`moved from the legacy store: ${[...decodeMark(filter).keys()].map(nameOf).join(', ') || 'not known'}`)
    else print(`filter of ${monthText(month)}: ${wordsOf(filter)}, version ${version}`)
  }
  for (const each of aside) print(`was damaged and set aside: ${sentenceOfAside(each)}`)
  if (filters.length === 0 && aside.length === 0 && seen.every(({ issued, staged }) => issued.length + staged.length === 0)) print('nothing seen')
}

/** What stands in its place is what could be made anew. */
export function sentenceOfAside({ month, filter, version, reason }: QuarantinedFilter): string {
  const what = month === MARK_MONTH ? 'what was noted of the move from the legacy store' : `filter of ${monthText(month)}`
  return `${what}, version ${version}, ${filter.length} bytes: ${reason || 'the reason is damaged too'}`
}

function wordsOf(filter: StoredFilter['filter']): string {
  try {
    return `${measureFilter(filter).records} records, ${filter.length} bytes`
  } catch (error) {
    return `${filter.length} bytes that cannot be read (${isTidemarkError(error) ? error.code : 'INTERNAL'})`
  }
}
