/** Types for the parts of autocannon that the feed benchmark uses; the package has none. */
declare module 'autocannon' {
  type Options = { url: string; method: 'POST'; headers: Record<string, string>; body: string; connections: number; duration: number }
  type Result = { requests: { total: number }; non2xx: number; errors: number }
  export default function autocannon(options: Options): Promise<Result>
}
