/** Kinds of values that settings are made of. */
import { z } from 'zod'

export const MINUTE = 60_000
export const DAY = 86_400_000

export const count = (minimum: number, maximum: number) => z.number().int().min(minimum).max(maximum)
