/** The kinds of faults of a service behind `startFaultyProxy`. Each is created again for each use, because some have a memory. */
import { askedWith, told, type Asked, type Fault, type Told } from './faulty-proxy.ts'

/** `second`: the fault affects only the second process. */
export type PlannedFault = { name: string; second?: boolean; make(): Fault }

/** Changes the answers to operations whose text matches. */
export function changing(name: string, operation: RegExp, change: (data: any, asked: Asked) => void): PlannedFault {
  return {
    name,
    make: () => ({
      async answer(asked, forward) {
        const answer = await forward(asked)
        if (!operation.test(asked.query) || !answer.json?.data) return answer
        change(answer.json.data, asked)
        return told(answer.json, answer.status)
      },
    }),
  }
}

/** Changes the requests. */
export function asking(name: string, operation: RegExp, change: (asked: Asked) => Asked): PlannedFault {
  return { name, make: () => ({ answer: (asked, forward) => forward(operation.test(asked.query) ? change(asked) : asked) }) }
}

/** Changes the inputs of reports, single or in a batch. */
export function reporting(name: string, change: (input: any) => any): PlannedFault {
  return asking(name, /Audit(Report|Batch)/, (asked) => {
    const { input, reports } = asked.variables
    return askedWith(asked, { variables: input ? { input: change(input) } : { reports: reports.map(change) } })
  })
}

export function withVariables(name: string, operation: RegExp, change: (variables: any) => object): PlannedFault {
  return asking(name, operation, (asked) => askedWith(asked, { variables: { ...asked.variables, ...change(asked.variables) } }))
}

export function givesNoScope(operation: RegExp): PlannedFault {
  return asking('gives no caller a scope', operation, (asked) => {
    const { 'x-viewer-scopes': _, ...headers } = asked.headers
    return { ...asked, headers }
  })
}

/** Answers as if the operation had been executed, and does nothing. */
export function pretending(name: string, operation: RegExp, data: (asked: Asked) => unknown): PlannedFault {
  return {
    name,
    make: () => ({ answer: async (asked, forward) => (operation.test(asked.query) ? told({ data: data(asked) }) : forward(asked)) }),
  }
}

/** Executes a part of the request before it passes the refusal on. */
export function halfDoing(name: string, operation: RegExp, part: (asked: Asked) => Asked): PlannedFault {
  return {
    name,
    make: () => ({
      async answer(asked, forward) {
        const answer = await forward(asked)
        if (operation.test(asked.query) && refuses(answer)) await forward(part(asked))
        return answer
      },
    }),
  }
}

function refuses({ json }: Told): boolean {
  return json?.errors !== undefined || userErrorsOf(json).length > 0
}

/** The mistakes that the payloads of an answer list, of whole inputs and of single ones of a batch. */
function userErrorsOf(json: any): any[] {
  const payloads: any[] = Object.values(json?.data ?? {})
  return payloads.flatMap((payload) => [payload, ...(payload?.results ?? [])]).flatMap((each) => each?.userErrors ?? [])
}

/** Mistakes and errors keep their message and change their code, or keep their code and lose their message. */
export function refusing(name: string, change: { code: string } | { message: string }): PlannedFault {
  return {
    name,
    make: () => ({
      async answer(asked, forward) {
        const answer = await forward(asked)
        const { json, status } = answer
        for (const error of json?.errors ?? []) {
          if ('code' in change) error.extensions.code = change.code
          else error.message = change.message
        }
        for (const mistake of userErrorsOf(json)) Object.assign(mistake, change)
        return told(json, status)
      },
    }),
  }
}

export function accepted(input: any) {
  const subject = watched(input)
  return { outcome: 'ACCEPTED', userErrors: [], subject, progress: subject.viewerProgress, dayToken: 'd', firstOfDay: false }
}

/** The subject of a report, as if it were stored. */
export function watched({ id, business = 'video', ...report }: any) {
  const { position = 0, duration = 0, device = null, viewedAt = Date.now(), finished = false } = report
  return { __typename: 'Video', id, business, viewerProgress: { position, duration, device, viewedAt, finished } }
}

export function dropping(name: string, drops: (input: any) => boolean): PlannedFault {
  return {
    name,
    make: () => ({
      async answer(asked, forward) {
        const { input } = asked.variables
        const isDropped = /AuditReport/.test(asked.query) && drops(input)
        return isDropped ? told({ data: { reportProgress: accepted(input) } }) : forward(asked)
      },
    }),
  }
}

/** Drops every report that `drops` selects, except the first for a subject of a viewer. */
export function losing(name: string, drops: (input: any, earlier: any) => boolean): PlannedFault {
  return {
    name,
    make: () => {
      const seen = new Map<string, any>()
      return {
        async answer(asked, forward) {
          const { input } = asked.variables
          if (!/AuditReport/.test(asked.query)) return forward(asked)
          const key = `${asked.headers['x-viewer-id']} ${input.id}`
          const earlier = seen.get(key)
          seen.set(key, input)
          return earlier !== undefined && drops(input, earlier) ? told({ data: { reportProgress: accepted(input) } }) : forward(asked)
        },
      }
    },
  }
}

export function answeringAt(name: string, path: string, change: (answer: Told) => Told): PlannedFault {
  return {
    name,
    make: () => ({ answer: async (asked, forward) => (asked.path === path ? change(await forward(asked)) : forward(asked)) }),
  }
}

export const inSecond = (fault: PlannedFault): PlannedFault => ({ ...fault, name: `${fault.name} in the second process`, second: true })
