/** A dashboard with its data, as the page of `draw.ts` gets it. */
export type Series = { legend: string; values: readonly (number | null)[] }

export type DrawnPanel = {
  title: string
  /** A unit of Grafana. */
  unit: string
  /** The title of the panels below it, without a chart. */
  isTitle: boolean
  /** In a grid of 24 columns, as Grafana has it. */
  place: { x: number; y: number; w: number; h: number }
  series: readonly Series[]
}

export type Drawing = { title: string; note: string; times: readonly number[]; panels: readonly DrawnPanel[] }
