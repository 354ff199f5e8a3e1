/** All generated pages, from the objects that the program itself uses. */
import { FLAGS } from '../../cli/process/settings.ts'
import { VARIABLES } from '../../cli/process/environment.ts'
import { makeProgram } from '../../cli/program.ts'
import { configSchema } from '../../config/config.ts'
import { collectMetrics } from './collect-metrics.ts'
import { commandLinePage } from './command-line.ts'
import { configurationPage, type OtherWays } from './configuration.ts'
import { errorsPage } from './errors.ts'
import { metricsPage, readMetrics } from './metrics.ts'
import { alertsPage, opsFiles } from './ops-files.ts'
import type { Page } from './page.ts'
import { topicsAndTablesPage } from './topics-and-tables.ts'

export async function referencePages(): Promise<Page[]> {
  return [
    errorsPage(),
    configurationPage(configSchema, otherWays()),
    metricsPage(await readMetrics(collectMetrics)),
    commandLinePage(makeProgram()),
    topicsAndTablesPage(),
    alertsPage(),
    ...opsFiles(),
  ]
}

/** Variables and flags by the path of their setting. */
export function otherWays(): OtherWays {
  const ways = [...Object.entries(VARIABLES).map(([name, { key }]) => ({ name, key })), ...FLAGS]
  return new Map([...Map.groupBy(ways, ({ key }) => key)].map(([key, all]) => [key, all.map(({ name }) => name)]))
}
