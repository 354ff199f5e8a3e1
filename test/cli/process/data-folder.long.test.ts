/** The permissions of the data folder. The umask of the tests is 0, so that each mode is set by the program. */
import { chmodSync, lstatSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openLmdbJournals } from '../../../writeback/stores/lmdb/journal.ts'
import { ask, makeServiceFolder, startService, type Service, type ServiceOptions } from '../../../harness/deployment/service.ts'

const REPORT = 'mutation { reportProgress(input: {business: "video", id: "5", position: 1000}) { outcome } }'
const LIKE = 'mutation { setMark(input: { business: "article", id: "5", mark: LIKE }) { outcome } }'

let folder: string
let remove: () => void
let umask: number
let services: Service[]
beforeEach(() => {
  services = []
  umask = process.umask(0)
  ;({ folder, remove } = makeServiceFolder())
})
afterEach(async () => {
  for (const service of services) if (service.process.exitCode === null) await service.kill()
  process.umask(umask)
  remove()
})

async function start(options: Omit<ServiceOptions, 'folder'>): Promise<Service> {
  const service = await startService({ folder, ...options })
  services.push(service)
  return service
}

/** Each path at or below `top` that other users may access. */
function readableByOthers(top: string): string[] {
  const below = readdirSync(top, { recursive: true, encoding: 'utf8' }).map((name) => join(top, name))
  expect(below.length).toBeGreaterThan(2)
  return [top, ...below].flatMap((path) => {
    const mode = lstatSync(path).mode & 0o777
    return (mode & 0o077) === 0 ? [] : [`${mode.toString(8)} ${path}`]
  })
}

test.each([1, 2])('with %i workers only the owner may read data folder, lock, journals and the folder of a tenant', async (workers) => {
  const [data, own] = [join(folder, 'data'), join(folder, 'parent', 'own')]
  const businesses = [
    { number: 1, name: 'video', entity: 'Video' },
    { number: 2, name: 'article', entity: 'Article', thumbup: { stores: { data: own } } },
  ]
  const service = await start({ workers, settings: { businesses } })
  expect((await ask(service.url, '7', REPORT)).errors).toBeUndefined()
  expect((await ask(service.url, '7', LIKE)).errors).toBeUndefined()
  expect([...readableByOthers(data), ...readableByOthers(join(folder, 'parent'))]).toEqual([])
  expect(await service.stop()).toBe(0)
  expect([...readableByOthers(data), ...readableByOthers(join(folder, 'parent'))]).toEqual([])
  expect(service.log()).not.toContain('chmod')
})

test('only the owner may read the journals of a process that shares its stores', async () => {
  const data = join(folder, 'data')
  const journals = openLmdbJournals(data)
  expect(readableByOthers(data)).toEqual([])
  await journals.close()
  expect(readableByOthers(data)).toEqual([])
})

test('a data folder that others may read is named once at start, with the command that fixes it', async () => {
  const data = join(folder, 'data')
  mkdirSync(data)
  chmodSync(data, 0o755)
  const service = await start({ workers: 2 })
  expect(await service.stop()).toBe(0)
  const told = service
    .log()
    .split('\n')
    .filter((line) => line.includes('chmod'))
  expect(told.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
    `other users of this machine may open the data folder ${data} (mode 755): run "chmod -R go-rwx ${data}"`,
  ])
})
