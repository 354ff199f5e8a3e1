/** Calls that remove what the audit wrote, beside the histories of its viewers. They run at the end. */
import { MARK_BATCH, type MarkInput } from './operations.ts'
import type { AuditViewer } from './viewer.ts'

const UNDONE_AT_ONCE = 500

export function makeUndoList() {
  /** Per viewer that set marks: the marks to undo. */
  const marked = new Map<AuditViewer, Map<string, MarkInput>>()
  const undos = new Map<AuditViewer, (() => Promise<unknown>)[]>()

  return {
    /** `business`: the default of the inputs. */
    noteMarks(viewer: AuditViewer, inputs: readonly MarkInput[], business: string): void {
      const noted = marked.get(viewer) ?? new Map<string, MarkInput>()
      marked.set(viewer, noted)
      for (const { viewer: of, business: its = business, id } of inputs) {
        const undo: MarkInput = { ...(of === undefined ? {} : { viewer: of }), business: its, id, mark: 'NONE' }
        noted.set(JSON.stringify([of, its, id]), undo)
      }
    },
    add(viewer: AuditViewer, undo: () => Promise<unknown>): void {
      const noted = undos.get(viewer) ?? []
      undos.set(viewer, noted)
      noted.push(undo)
    },
    /** One promise per viewer, and per viewer with marks. Each rejects if a call fails. */
    run: (): Promise<void>[] => [
      ...Array.from(marked, ([viewer, noted]) => undoMarks(viewer, [...noted.values()])),
      ...Array.from(undos.values(), inTurn),
    ],
  }
}

async function undoMarks(viewer: AuditViewer, undos: readonly MarkInput[]): Promise<void> {
  for (let i = 0; i < undos.length; i += UNDONE_AT_ONCE) await viewer.data(MARK_BATCH, { marks: undos.slice(i, i + UNDONE_AT_ONCE) })
}

async function inTurn(calls: readonly (() => Promise<unknown>)[]): Promise<void> {
  for (const call of calls) await call()
}
