/** The quotas of a business for history and for feed existence. Those for marks are in `config/thumbup.ts`. */
import { z } from 'zod'
import { count } from './values.ts'

const perSecond = (what: string, more = '') =>
  count(1, 10_000_000)
    .optional()
    .describe(
      `${what} per second that one process takes for this business, with bursts of one second. ${more}Writes beyond this rate are refused with \`QUOTA_EXCEEDED\`.`,
    )

/** Under `history` of a business. */
export const businessHistorySchema = z
  .object({
    reportsPerSecondMax: perSecond('Reports of progress'),
    recordsMax: count(1, Number.MAX_SAFE_INTEGER)
      .optional()
      .describe(
        'Stored records of progress of this business. Beyond this limit reports of new subjects are refused with `QUOTA_EXCEEDED`; stored subjects can still be reported, deleted and cleared. Each process sums up all stored records, at 5,000 per second, so the limit takes effect late.',
      ),
  })
  .strict()

/** Under `existence` of a business. */
export const businessExistenceSchema = z
  .object({
    playsPerSecondMax: perSecond('Subjects of `recordPlayed`', 'Plays from reports of progress do not count. '),
    issuesPerSecondMax: perSecond('Subjects of `recordIssued`'),
  })
  .strict()
