/** The forms of the files of an export. */
export const FORMS = ['jsonl', 'parquet'] as const
export type Form = (typeof FORMS)[number]
