import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { addToFilter, emptyFilter, openFilter } from '../../../../subgraphs/feed-existence/filter/filter.ts'
import { hashSeen } from '../../../../subgraphs/feed-existence/filter/hash.ts'

const READER = join(import.meta.dirname, '..', '..', '..', '..', 'examples', 'read-filter', 'read_filter.py')
const RATE = 0.0025
const FOLDER = mkdtempSync(join(tmpdir(), 'tidemark-read-filter-'))
const NONE = new Uint32Array(0)

const IDS = [
  ...['0', '1', '007', '4294967295', '4294967296', '999999999999999', '1000000000000000', '9007199254740993'],
  ...['9223372036854775807', '9223372036854775808', 'a', 'abc', 'BV1xx411c7mD', 'épisode-12', '第一話', '١٢', 'x'.repeat(64)],
  ...Array.from({ length: 1_200 }, (_, i) => String(i * 7_919)),
  ...Array.from({ length: 600 }, (_, i) => `v${i}`),
]
const OTHERS = [...Array.from({ length: 3_000 }, (_, i) => String(50_000_000 + i)), ...Array.from({ length: 3_000 }, (_, i) => `w${i}`)]

afterAll(() => rmSync(FOLDER, { recursive: true }))

function python(
  /** Undefined: the file does not exist. */
  blob: Uint8Array | undefined,
  business: number | string,
  ids: readonly (string | Buffer)[],
): { status: number | null; answers: string[]; complaint: string } {
  const place = join(FOLDER, blob === undefined ? 'nowhere' : 'filter')
  if (blob !== undefined) writeFileSync(place, blob)
  // The default encoding of the standard streams depends on the locale of the machine, and must not matter.
  const { status, stdout, stderr, error } = spawnSync('python3', [READER, place, String(business)], {
    input: Buffer.concat(ids.flatMap((id) => [Buffer.from(id), Buffer.from('\n')])),
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C' },
  })
  if (error !== undefined) throw new Error('this test needs python3: install it (apt-get install python3)', { cause: error })
  return { status, answers: stdout.split('\n').slice(0, -1), complaint: stderr }
}

/** The answers of Tidemark in the format of the reader. */
function ours(blob: Buffer, business: number, ids: readonly string[]): string[] {
  const probe = openFilter(blob)
  return ids.map((id) => {
    const [hash1 = 0, hash2 = 0] = hashSeen(business, [id])
    return `${id}\t${probe.has(hash1, hash2) ? 'seen' : 'unseen'}`
  })
}

const grown = (recordsMax: number | undefined) => {
  const hashes = hashSeen(3, IDS)
  const first = addToFilter(undefined, hashes.subarray(0, 900), { rate: RATE, recordsMax })
  return addToFilter(first, hashes.subarray(900), { rate: RATE })
}

describe('the reader in Python', () => {
  it.each([
    ['open', grown(undefined)],
    ['closed', addToFilter(grown(undefined), NONE, { rate: RATE, recordsMax: 0 })],
    ['closed too early', grown(0)],
  ])('finds all ids in a filter that is %s', (_, blob) => {
    const { status, answers, complaint } = python(blob, 3, IDS)
    expect(complaint).toBe('')
    expect(status).toBe(0)
    expect(answers).toEqual(IDS.map((id) => `${id}\tseen`))
  })

  it('answers as Tidemark does for ids that were never added, and for another business', () => {
    const blob = addToFilter(grown(undefined), NONE, { rate: RATE, recordsMax: 0 })
    expect(python(blob, 3, OTHERS).answers).toEqual(ours(blob, 3, OTHERS))
    const { answers } = python(blob, 4, IDS)
    expect(answers).toEqual(ours(blob, 4, IDS))
    expect(answers.filter((answer) => answer.endsWith('\tunseen')).length).toBeGreaterThan(IDS.length * 0.98)
  })

  it('finds nothing in an empty filter', () => {
    expect(python(emptyFilter({ rate: RATE }), 1, ['1', 'a']).answers).toEqual(['1\tunseen', 'a\tunseen'])
  })

  it('refuses damaged filters, filters of a newer version and other files with a sentence', () => {
    const damaged = grown(0)
    damaged[damaged.length - 3] = (damaged.at(-3) as number) ^ 4
    for (const blob of [damaged, grown(0).subarray(0, 90), Buffer.from('{}'), Buffer.alloc(0)]) {
      const { status, answers, complaint } = python(blob, 3, ['1'])
      expect(answers).toEqual([])
      expect(complaint).toMatch(/^(this is no filter|the filter is damaged)/)
      expect(status).toBe(1)
    }
  })

  it.each([
    ['no file', undefined, 3, ['1'], 'nowhere cannot be read: No such file or directory'],
    ['a name of a business', grown(0), 'video', ['1'], '"video" is no number of a business'],
    ['a business below 1', grown(0), -1, ['1'], '"-1" is no number of a business'],
    ['a business beyond all', grown(0), 999_999_999_999, ['1'], '"999999999999" is no number of a business'],
    ['an empty id', grown(0), 3, ['1', ''], 'the id "" has 0 bytes'],
    ['an id that is too long', grown(0), 3, ['ü'.repeat(33)], 'has 66 bytes: an id has 1 to 64'],
    ['an id that is not UTF-8', grown(0), 3, [Buffer.of(0xff, 0xfe)], 'is not UTF-8'],
  ] as const)('refuses %s with a sentence', (_, blob, business, ids, sentence) => {
    const { status, answers, complaint } = python(blob, business, ids)
    expect([status, answers, complaint]).toEqual([1, [], expect.stringContaining(sentence)])
    expect(complaint).not.toContain('Traceback')
  })
})
