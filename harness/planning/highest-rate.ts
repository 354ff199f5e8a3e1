/** The search for the highest rate that a system holds. */

/** Doubles from `first` until a rate does not hold, and then halves the interval `steps` times. 0 if no rate down to 1 holds. */
export async function highestRate(first: number, steps: number, holds: (rate: number) => Promise<boolean>): Promise<number> {
  let good = 0
  let bad = Infinity
  for (let rate = first; bad === Infinity || (good === 0 && rate >= 1); rate = bad === Infinity ? rate * 2 : rate / 2) {
    if (await holds(rate)) good = rate
    else bad = rate
  }
  for (let step = 0; step < steps && good > 0; step++) {
    const middle = Math.round((good + bad) / 2)
    if (await holds(middle)) good = middle
    else bad = middle
  }
  return good
}
