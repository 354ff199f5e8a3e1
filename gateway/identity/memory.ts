/** A bounded map of two generations. An entry that is not read while the young generation fills up is forgotten. Most hits move nothing. */
export type Memory<T> = { get(key: string): T | undefined; set(key: string, value: T): void }

export function makeMemory<T>(generationMax: number): Memory<T> {
  let young = new Map<string, T>()
  let old = new Map<string, T>()
  function set(key: string, value: T): void {
    if (young.size >= generationMax) {
      old = young
      young = new Map()
    }
    young.set(key, value)
  }
  function get(key: string): T | undefined {
    const value = young.get(key)
    if (value !== undefined) return value
    const older = old.get(key)
    if (older !== undefined) set(key, older)
    return older
  }
  return { get, set }
}
