/** Figures per class of keys. The class is the first letter. */
import type { ClassFigures } from './tiered-cache.ts'

export function makeClassFigures() {
  const classes = new Map<number, { name: string; figures: ClassFigures }>()

  /** Nearly all keys of a call have the class of the key before. */
  let last: { letter: number; figures: ClassFigures } | undefined

  function of(key: string): ClassFigures {
    const letter = key.charCodeAt(0)
    if (last?.letter === letter) return last.figures
    let found = classes.get(letter)
    if (found === undefined) {
      const figures = {
        l1: 0,
        main: 0,
        backup: 0,
        absent: 0,
        misses: 0,
        joined: 0,
        loaded: 0,
        stale: 0,
        damaged: 0,
        bytes: 0,
        calls: 0,
        ms: 0,
      }
      classes.set(letter, (found = { name: key.charAt(0), figures }))
    }
    last = { letter, figures: found.figures }
    return found.figures
  }

  return {
    of,
    all: (): Record<string, ClassFigures> =>
      Object.fromEntries(Array.from(classes.values(), ({ name, figures }) => [name, { ...figures }])),
  }
}
