/** The load of a plan on subgraphs: the number of its fetches, and the number of waves. */
import type { PlanNode } from '@graphql-hive/router-query-planner'

export type PlanSummary = {
  readonly fetches: number
  /** The longest chain of fetches that wait for each other. */
  readonly waves: number
  /** The names of the subgraphs that it asks, sorted. */
  readonly subgraphs: readonly string[]
}

export function summarizePlan(plan: PlanNode | undefined): PlanSummary {
  const subgraphs = new Set<string>()
  const { fetches, waves } = measure(plan, subgraphs)
  return { fetches, waves, subgraphs: [...subgraphs].sort() }
}

type Figures = { fetches: number; waves: number }

function measure(node: PlanNode | null | undefined, subgraphs: Set<string>): Figures {
  if (node === null || node === undefined) return { fetches: 0, waves: 0 }
  switch (node.kind) {
    case 'Fetch':
    case 'BatchFetch':
      subgraphs.add(node.serviceName)
      return { fetches: 1, waves: 1 }
    case 'Subscription':
      subgraphs.add(node.primary.serviceName)
      return { fetches: 1, waves: 1 }
    case 'Flatten':
      return measure(node.node, subgraphs)
    case 'Sequence':
      return oneByOne(node.nodes.map((each) => measure(each, subgraphs)))
    case 'Parallel':
      return atOnce(node.nodes.map((each) => measure(each, subgraphs)))
    case 'Condition':
      return atOnce([measure(node.ifClause, subgraphs), measure(node.elseClause, subgraphs)])
    case 'Defer':
      return oneByOne([node.primary.node, ...node.deferred.map((each) => each.node)].map((each) => measure(each, subgraphs)))
    default:
      return node satisfies never
  }
}

function oneByOne(figures: readonly Figures[]): Figures {
  return figures.reduce((sum, each) => ({ fetches: sum.fetches + each.fetches, waves: sum.waves + each.waves }), { fetches: 0, waves: 0 })
}

function atOnce(figures: readonly Figures[]): Figures {
  return figures.reduce((sum, each) => ({ fetches: sum.fetches + each.fetches, waves: Math.max(sum.waves, each.waves) }), {
    fetches: 0,
    waves: 0,
  })
}
