import type { ViewerId } from '../../core/domain.ts'

/** A rule that a world broke. */
export class Violation extends Error {
  readonly viewer: ViewerId | undefined
  constructor(message: string, viewer: ViewerId | undefined) {
    super(message)
    this.viewer = viewer
  }
}

/** Reports that a rule was broken. */
export type Fail = (message: string, viewer: ViewerId | undefined) => void
