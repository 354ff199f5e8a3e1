/** Faults of a service that does not distinguish viewers. */
import type { PlannedFault } from './fault-kinds.ts'
import type { Asked } from './faulty-proxy.ts'

export const everybodyIsOne: PlannedFault = {
  name: 'treats all callers as one viewer',
  make: () => {
    const one = `one-${Math.random().toString(36).slice(2)}`
    const asOne = (asked: Asked): Asked => ({ ...asked, headers: { ...asked.headers, 'x-viewer-id': one } })
    return { answer: (asked, forward) => forward(asOne(asked)), open: asOne }
  },
}
/** Accepts every caller, with a token or without one. */
export const everybodyIsSomebody: PlannedFault = {
  name: 'accepts every caller',
  make: () => {
    const asSomebody = (asked: Asked): Asked => {
      const { authorization: _, ...headers } = asked.headers
      return headers['x-viewer-id'] === undefined ? { ...asked, headers: { ...headers, 'x-viewer-id': 'somebody' } } : asked
    }
    return { answer: (asked, forward) => forward(asSomebody(asked)), open: asSomebody }
  },
}
