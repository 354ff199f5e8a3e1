/**
 * The legacy store on Redis 6.2 or later: plain sorted sets of any origin. A set is read by ZSCAN, which returns every member that is
 * present from the first page to the last, even while members are added and change their scores. Pages by rank or by score have no such
 * guarantee. A set of a million members therefore blocks its server for no longer than a page.
 */
import { isUtf8 } from 'node:buffer'
import type { Clock } from '../../../../core/clock.ts'
import type { BusinessNumber, Play, ViewerId } from '../../../../core/domain.ts'
import { TidemarkError, isTidemarkError } from '../../../../core/errors.ts'
import { ID_BYTES_MAX } from '../../../../core/keys.ts'
import { legacyKey } from '../../../../config/legacy-key.ts'
import type { LegacyKind, LegacyPage, LegacyPlay, LegacyPlays } from '../legacy-plays.ts'
import type { RedisConnectionOptions } from '../../../../stores/redis/clients.ts'
import { connect } from '../../../../stores/redis/connection.ts'
import type { Argument, Command } from '../../../../stores/redis/connection.ts'

export type RedisLegacyOptions = Omit<RedisConnectionOptions, 'tls' | 'username' | 'password' | 'cluster'> & {
  cluster?: boolean | undefined
  username?: string | undefined
  password?: string | undefined
  tls?: { ca?: string | undefined; cert?: string | undefined; key?: string | undefined } | undefined
  /** With the placeholders {viewer}, {business} and {number}. */
  key: string
  score: 'ms' | 'seconds' | 'none'
  /** Names of businesses. */
  names: ReadonlyMap<BusinessNumber, string>
}

/** Members per ZMSCORE, a few tenths of a millisecond of the server's time. */
const MEMBERS_PER_COMMAND = 1_000
const RETRY_MAX_MS = 2_000
const SHOWN_CHARACTERS = 40

export function openRedisLegacyPlays({ key, score, names, ...server }: RedisLegacyOptions, clock: Clock): LegacyPlays {
  const connection = connect({ retryMaxMs: RETRY_MAX_MS, ...given(server) })
  const unit = score === 'seconds' ? 1_000 : 1

  const keyOf = (viewer: ViewerId, business: BusinessNumber): string =>
    legacyKey(key, { viewer, business: names.get(business) ?? String(business), number: String(business) })

  /** For messages. Logs mask the viewer. */
  function nameOf(viewer: ViewerId, business: BusinessNumber): string {
    return `the legacy set of viewer "${viewer}" in business "${names.get(business) ?? business}"`
  }

  async function send(commands: readonly Command[], what: string): Promise<unknown[]> {
    try {
      return await connection.send(commands)
    } catch (error) {
      throw legacyError(error, what)
    }
  }

  const timeOf = (text: Buffer): number => (score === 'none' ? clock.now() : Math.round(Number(String(text)) * unit))

  return {
    keyOf,

    async getPlayedAt(viewer, business, oids) {
      const place = keyOf(viewer, business)
      const whose = nameOf(viewer, business)
      const commands: Command[] = [{ name: 'exists', args: [place] }]
      for (let from = 0; from < oids.length; from += MEMBERS_PER_COMMAND)
        commands.push({ name: 'zmscore', args: [place, ...oids.slice(from, from + MEMBERS_PER_COMMAND)] })
      const [exists, ...scores] = (await send(commands, whose)) as [number, ...(Buffer | null)[][]]
      return { exists: exists === 1, playedAt: scores.flat().map((text) => (text === null ? undefined : timeOf(text))) }
    },

    async listPlays(viewer, business, page = '0', count) {
      const place = keyOf(viewer, business)
      const [answer] = await send([{ name: 'zscan', args: [place, page, 'COUNT', count] }], nameOf(viewer, business))
      const [next, entries] = answer as [Buffer, Buffer[]]
      const found: LegacyPage = { plays: [], invalid: [], next: String(next) === '0' ? undefined : String(next) }
      for (let at = 0; at + 1 < entries.length; at += 2) {
        const play = playOf(entries[at] as Buffer, timeOf(entries[at + 1] as Buffer))
        if (play === undefined) found.invalid.push(shown(entries[at] as Buffer))
        else found.plays.push(play)
      }
      return found
    },

    async examine(of) {
      const commands = of.map(({ viewer, business }) => ({ name: 'type', args: [keyOf(viewer, business)] }))
      const types = await send(commands, 'the keys of viewers')
      return types.map((type): LegacyKind => (String(type) === 'none' ? 'none' : String(type) === 'zset' ? 'set' : 'other'))
    },

    async putPlays(plays) {
      const byKey = Map.groupBy(plays, ({ viewer, business }) => keyOf(viewer, business))
      const refused: Play[] = []
      const sent = Array.from(byKey, async ([place, some]) => {
        const entries = some.flatMap(({ oid, playedAt }): Argument[] => [Math.floor(playedAt / unit), oid])
        try {
          // Calls of one turn are sent in one write.
          await send([{ name: 'zadd', args: [place, 'GT', ...entries] }], 'a key of the legacy store')
        } catch (error) {
          if (!isTidemarkError(error) || error.code !== 'LEGACY_INVALID') throw error
          refused.push(...some)
        }
      })
      const ended = await Promise.allSettled(sent)
      for (const each of ended) if (each.status === 'rejected') throw each.reason
      return refused
    },

    async check() {
      await send([{ name: 'exists', args: [keyOf('0', 0)] }], 'a key')
    },

    async close() {
      connection.close()
    },
  }
}

/** Leaves out undefined values, as the options of a connection require. */
function given({
  cluster,
  username,
  password,
  tls,
  ...others
}: Omit<RedisLegacyOptions, 'key' | 'score' | 'names'>): RedisConnectionOptions {
  return {
    ...others,
    ...(cluster === undefined ? {} : { cluster }),
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls === undefined ? {} : { tls: Object.fromEntries(Object.entries(tls).filter(([, text]) => text !== undefined)) }),
  }
}

function playOf(member: Buffer, playedAt: number): LegacyPlay | undefined {
  if (member.length === 0 || member.length > ID_BYTES_MAX || !isUtf8(member)) return undefined
  return { oid: String(member), playedAt }
}

function shown(member: Buffer): string {
  const text = isUtf8(member) ? String(member) : member.toString('latin1')
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}… (${member.length} bytes)` : text
}

/** Errors of the connection name the hot store's settings, its usual purpose. This replaces them. */
function legacyError(error: unknown, what: string): unknown {
  if (!isTidemarkError(error)) return error
  if (/\bWRONGTYPE\b/.test(error.message)) {
    // Without the cause, which has the key and all arguments.
    return new TidemarkError(
      'LEGACY_INVALID',
      `${what} is not a sorted set: remove that key, or correct it; if it is not meant for plays, correct existence.legacy.key`,
    )
  }
  const message = error.message.replace('Redis at', 'the legacy Redis at').replaceAll('stores.redis', 'existence.legacy')
  if (error.code === 'HOT_STORE_UNAVAILABLE') return new TidemarkError('LEGACY_UNAVAILABLE', message, { cause: error })
  return new TidemarkError(error.code, message, { cause: error })
}
