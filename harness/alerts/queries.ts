/** Expressions of the dashboards against a Prometheus that scrapes a loaded deployment. */
import { DASHBOARDS } from '../../ops/dashboards/all.ts'
import { RATE } from '../../ops/dashboards/dashboard.ts'
import type { Prometheus } from '../../scripts/servers/prometheus.ts'

/** Expressions without any series, unless a healthy deployment has none. Rejects if Prometheus refuses one. `rate`: the range of rates. */
export async function silentQueries({ query }: Pick<Prometheus, 'query'>, rate: string): Promise<string[]> {
  const silent: string[] = []
  for (const { id, sections } of DASHBOARDS)
    for (const { panels } of sections)
      for (const { title, queries } of panels)
        for (const { expr, mayBeEmpty } of queries) {
          const series = await query(expr.replaceAll(RATE, rate))
          if (series.length === 0 && mayBeEmpty !== true) silent.push(`${id}, ${title}: ${expr}`)
        }
  return silent
}
