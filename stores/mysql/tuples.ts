/** Rows of literals as SQL text: as the table of a join, and as the values of an insert. */

/** Values of a row, as SQL. */
export type Tuple = readonly string[]

/** The rows as a table of these columns. */
export function tupleTable(columns: readonly string[], rows: readonly Tuple[]): string {
  const [first, ...others] = rows
  if (first === undefined) throw new Error('a table of keys needs a key')
  const head = first.map((value, place) => `${value} AS ${columns[place]}`).join(',')
  return [`SELECT ${head}`, ...others.map((row) => `SELECT ${row.join(',')}`)].join(' UNION ALL ')
}

export function insert(table: string, columns: string, rows: readonly Tuple[]): string {
  return `INSERT INTO ${table} (${columns}) VALUES ${rows.map((row) => `(${row.join(',')})`).join(',')}`
}

/** Keys per lookup statement, joined as a table. Parsers accept this size, and larger ones are not faster. */
export const KEYS_MAX = 128

export function byOrder(a: { order: string }, b: { order: string }): number {
  return a.order < b.order ? -1 : a.order > b.order ? 1 : 0
}

/** Each row with its place in front. */
export function placed(tuples: readonly Tuple[]): Tuple[] {
  return tuples.map((tuple, place) => [String(place), ...tuple])
}
