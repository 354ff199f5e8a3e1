/** The newest known facts of each video and post. Every answer and every event updates them, and every part of the page reads them. */
import { useEffect, useState } from 'preact/hooks'
import type { Subject } from './operations.ts'

const facts = new Map<string, Subject>()
const listeners = new Set<() => void>()

/** Fields that `subject` does not have keep their last values. */
export function learn(subjects: readonly (Subject | null | undefined)[]): void {
  for (const subject of subjects) if (subject != null) facts.set(subject.id, { ...facts.get(subject.id), ...subject })
  for (const listener of listeners) listener()
}

/** Forgets all progress, after a clearing. */
export function forgetProgress(): void {
  learn([...facts.values()].map((each) => ({ ...each, viewerProgress: null })))
}

/** Forgets everything, for another viewer. */
export function forgetAll(): void {
  facts.clear()
  learn([])
}

/** Renders the component again when a fact changes. */
export function useFacts(): ReadonlyMap<string, Subject> {
  const [, setVersion] = useState(0)
  useEffect(() => {
    const listener = (): void => setVersion((version) => version + 1)
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, [])
  return facts
}
