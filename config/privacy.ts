/** The section `privacy`: the keys of reports of erasures, and the wait of an erasure. A part of config.ts. */
import { z } from 'zod'
import { count } from './values.ts'

export const privacySchema = z
  .object({
    secret: z
      .string()
      .min(32, 'a key for HMAC-SHA256 needs at least 32 bytes')
      .optional()
      .describe(
        'The key that signs reports of erasures by HMAC-SHA256, at least 32 bytes. It also makes the digest of the id. Default: reports have no signature, and an id can be guessed from its digest.',
      ),
    privateKey: z
      .string()
      .optional()
      .describe(
        'An Ed25519 private key in PEM form, which signs reports in place of `secret`. Anyone with the public key can then verify a report. Set `secret` too, for the digest of the id.',
      ),
    settleMs: count(0, 1_800_000)
      .default(45_000)
      .describe(
        'On servers, an erasure waits this long before its last pass: a job may still write data that it read before. The default is the longest wait of a job for MySQL: 10 s for a connection, 30 s for a statement and 5 s for a lock.',
      ),
  })
  .strict()
  .describe('Erasure of viewers.')

export type PrivacyConfig = z.infer<typeof privacySchema>
