/** A process from its start to its death. */
export type Life = { name: string; dead: boolean; skewMs: number }
