/**
 * Region → hash tag. Redis Cluster places a key by the CRC16 of the text between its first braces, so the tag decides the node of a region.
 * Tags are chosen so that region r of R falls into slot floor((r + 0.5) × 16384 / R): nodes own ranges of slots, and equal ranges have
 * equally many regions, however many nodes there are.
 *
 * The tag of a slot is the first number, written in base 36, that hashes to it: at most four characters, the same on every machine and for
 * ever. Stored keys depend on it: never change it.
 */
export const SLOTS = 16_384

/** The tag of each region, by number. `regions` is 1 to 16384. */
export function regionTags(regions: number): string[] {
  const wanted = new Map<number, number>()
  for (let region = 0; region < regions; region++) wanted.set(Math.floor(((region + 0.5) * SLOTS) / regions), region)
  const tags: string[] = Array.from({ length: regions }, () => '')
  for (let number = 0; wanted.size > 0; number++) {
    const tag = number.toString(36)
    const slot = slotOf(tag)
    const region = wanted.get(slot)
    if (region === undefined) continue
    tags[region] = tag
    wanted.delete(slot)
  }
  return tags
}

/** The slot of an ASCII tag: CRC16 (XMODEM) mod 16384, as in the Redis Cluster specification. */
export function slotOf(tag: string): number {
  let crc = 0
  for (let i = 0; i < tag.length; i++) {
    crc ^= tag.charCodeAt(i) << 8
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000) === 0 ? (crc << 1) & 0xffff : ((crc << 1) ^ 0x1021) & 0xffff
  }
  return crc % SLOTS
}
