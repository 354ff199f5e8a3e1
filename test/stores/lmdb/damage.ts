/**
 * Opens a data folder that may be damaged, and reads and writes all of its tables in a separate process: on damaged pages LMDB may end with
 * a signal. Prints the code of the refusal, or "read".
 *
 *     node damage.ts FOLDER
 */
import { isTidemarkError } from '../../../core/errors.ts'
import { openEnvironment } from '../../../stores/lmdb/environment.ts'

export const TABLES = ['small', 'large', 'meta']

async function readAll(folder: string): Promise<string> {
  try {
    const environment = openEnvironment(folder, { regions: 4, sizeMaxGb: 1 })
    let bytes = 0
    for (const name of TABLES) {
      const table = environment.table(name)
      for (const { key, value } of environment.read(() => table.getRange({}))) bytes += key.length + value.length
    }
    const small = environment.table('small')
    for (let round = 0; round < 5; round++) {
      await environment.write(() => void small.put(Buffer.from(`again ${round}`), Buffer.alloc(500)))
    }
    await environment.close()
    return bytes > 0 ? 'read' : 'empty'
  } catch (error) {
    return isTidemarkError(error) ? error.code : String(error)
  }
}

const [folder] = process.argv.slice(2)
if (import.meta.main && folder !== undefined) process.stdout.write(await readAll(folder))
