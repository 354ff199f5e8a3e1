import { openRedisHotStore } from '../../../stores/redis/hot-store.ts'
import { startRedis, startCluster } from './servers.ts'
const which = process.argv[2] ?? 'single'
const servers = which === 'cluster' ? await startCluster() : await startRedis()
const store = openRedisHotStore({ urls: servers.urls, regions: 100 })
await store.check()
const N = 300, B = 500
async function runIt(inflight: number, batch: number, calls: number) {
  let at = 0; const t = process.hrtime.bigint(); const cpu = process.cpuUsage()
  let stale = 0
  async function worker() {
    while (at < calls) {
      const c = at++; const now = Date.now()
      const writes = Array.from({ length: batch }, (_, i) => ({ viewer: String((c * batch + i) * 7919 % 20000), business: 1, oid: String(((c * 31 + i) * 104729) % 1000), decisive: true,
        record: { viewedAt: now, since: 0, rank: 2 ** 42 + now, version: 0, position: 65_000, duration: 600_000, device: 'phone', finished: false, deleted: false } }))
      const out = await store.putProgress(writes, { now, timelineCap: 1000 })
      for (const o of out) if (o.status !== 'written') stale++
    }
  }
  await Promise.all(Array.from({ length: inflight }, worker))
  const s = Number(process.hrtime.bigint() - t) / 1e9
  const used = process.cpuUsage(cpu)
  console.log(`${which} batch ${batch} inflight ${inflight}: ${Math.round(calls * batch / s)} writes/s, node cpu ${((used.user + used.system) / 1e6 / s).toFixed(2)} stale ${stale}`)
}
await runIt(2, B, 50)
await runIt(1, B, N)
await runIt(4, B, N)
await runIt(8, B, N)
await runIt(100, 1, 20000)
{
  const t = process.hrtime.bigint(); let n = 0
  await Promise.all(Array.from({ length: 16 }, async () => { for (let i = 0; i < 1500; i++) { const v = String(Math.floor(Math.random() * 20000)); const r = await store.getProgressMany(Array.from({ length: 50 }, (_, k) => ({ viewer: v, business: 1, oid: String(k * 13) }))); n += r.length } }))
  console.log('lookups/s', Math.round(n / (Number(process.hrtime.bigint() - t) / 1e9)))
}
{
  const t = process.hrtime.bigint(); let n = 0
  await Promise.all(Array.from({ length: 16 }, async () => { for (let i = 0; i < 500; i++) { const v = String(Math.floor(Math.random() * 20000)); const r = await store.listTimeline(v, [1, 2, 3], undefined, 20); n ++ } }))
  console.log('pages/s', Math.round(n / (Number(process.hrtime.bigint() - t) / 1e9)))
}
{ const all=Array.from({length:100},(_,i)=>i); let n=0; const t = process.hrtime.bigint();
 for(;;){const keys=await store.listDirty(all, Date.now()+1e9, 5000); if(!keys.length)break; const recs=await store.readDirtyProgress(keys); await store.clearDirty(recs.map(r=>({key:r.key,version:r.record!.version})),1000); n+=keys.length}
 console.log('persisted/s', Math.round(n/(Number(process.hrtime.bigint() - t) / 1e9)), n, 'dirty left', await store.countDirty())}
await store.close(); await servers.stop()
