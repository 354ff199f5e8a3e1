/** The data of the console, as the process gives it. Both parts are JSON. */
export type ConsoleSource = {
  state(): Promise<object>
  /** Rejects with the code of a store that does not answer. */
  viewer(id: string): Promise<object>
}
