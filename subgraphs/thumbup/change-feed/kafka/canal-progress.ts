/**
 * The progress of a topic of TiCDC in our own time: the newest beat before which everything has come.
 *
 * A beat is a row that we wrote and read back. In a topic with one partition, every earlier commit comes before the beat. With several
 * partitions, the beat is in one of them, and watermarks report the progress of the others. Once all watermarks are past the commit of the
 * beat, every earlier commit has come.
 */
export type CanalProgress = {
  /** A beat of ours, written at `beatAt` and committed at `committedAt`, if the message has that. */
  beat(beatAt: number, committedAt: number | undefined): void
  watermark(partition: number, watermark: number): void
  readUntil(): number
  /** True if beats come without the watermarks that they need. */
  lacksWatermarks(): boolean
}

/** Beats that wait for watermarks: some minutes at one beat per second. */
const BEATS_MAX = 1_000

export function makeCanalProgress(partitions: number): CanalProgress {
  const watermarks = new Map<number, number>()
  let beats: { beatAt: number; committedAt: number }[] = []
  let readUntil = 0
  let unclear = 0

  function beat(beatAt: number, committedAt: number | undefined): void {
    if (partitions === 1) readUntil = Math.max(readUntil, beatAt)
    else if (committedAt === undefined || (watermarks.size === 0 && beats.length > 0)) unclear++
    if (partitions === 1 || committedAt === undefined) return
    beats.push({ beatAt, committedAt })
    if (beats.length > BEATS_MAX) beats.shift()
    settle()
  }

  function watermark(partition: number, mark: number): void {
    watermarks.set(partition, Math.max(mark, watermarks.get(partition) ?? 0))
    unclear = 0
    settle()
  }

  function settle(): void {
    if (watermarks.size < partitions) return
    const lowest = Math.min(...watermarks.values())
    for (const { beatAt, committedAt } of beats) if (committedAt < lowest) readUntil = Math.max(readUntil, beatAt)
    beats = beats.filter(({ committedAt }) => committedAt >= lowest)
  }

  return { beat, watermark, readUntil: () => readUntil, lacksWatermarks: () => unclear >= 30 }
}
