/** A process that locks a data folder, reports it, and waits to be killed. `node lock-holder.ts FOLDER` */
import { lockDataFolder } from '../../../stores/lmdb/folder-lock.ts'

lockDataFolder(process.argv[2] ?? '')
console.log('locked')
setInterval(() => {}, 1_000)
