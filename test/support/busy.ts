/** Occupies this process, as the composition of a large graph does: no socket is read, and no timer runs. */
export function beBusy(forMs: number): void {
  const end = Date.now() + forMs
  while (Date.now() < end);
}
