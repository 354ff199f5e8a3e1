/** The process of one attack: `attacker.ts FILE INDEX TARGET`. It stops on the message `stop` and sends its counts. */
import { setPriority } from 'node:os'
import type { Attack, Target } from './attack.ts'

const [file = '', index = '', target = ''] = process.argv.slice(2)
const { attacks } = (await import(`./attacks/${file}`)) as { attacks: readonly Attack[] }
const attack = attacks[Number(index)]
if (attack === undefined) throw new Error(`harness/abuse/attacks/${file} has no attack ${index}`)
// A low priority: the attacker shares the machine with the measured product and the healthy client.
setPriority(10)
const stopped = new AbortController()
process.once('message', () => stopped.abort())
process.once('disconnect', () => process.exit(1))
const counts = await attack.run(JSON.parse(target) as Target, stopped.signal)
process.send?.(counts, () => process.exit(0))
