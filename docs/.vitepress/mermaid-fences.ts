/**
 * Fenced blocks with the language `mermaid` become diagrams, as on GitHub. The browser draws them with the Mermaid that
 * the site carries, because Mermaid measures text and needs a page for that. The build parses each diagram, so that
 * no mistake in a diagram reaches a reader.
 */
import DOMPurify from 'dompurify'
import mermaid from 'mermaid'
import type { MarkdownRenderer } from 'vitepress'

type Fences = { use(markdown: MarkdownRenderer): void; check(): Promise<void> }

export function mermaidFences(): Fences {
  const diagrams = new Map<string, string>()

  return {
    use(markdown) {
      const code = markdown.renderer.rules.fence
      markdown.renderer.rules.fence = (tokens, at, options, env: { relativePath: string }, self) => {
        const token = tokens[at]
        if (token?.info.trim() !== 'mermaid') return code?.(tokens, at, options, env, self) ?? ''
        diagrams.set(token.content, env.relativePath)
        return `<MermaidDiagram text="${encodeURIComponent(token.content)}" />`
      }
    },
    async check() {
      // Parsing only needs these to exist: without a page DOMPurify has none of its functions, and nothing is shown here.
      Object.assign(DOMPurify, { addHook: () => {}, sanitize: (text: string) => text })
      for (const [text, page] of diagrams)
        await mermaid.parse(text).catch((error: unknown) => {
          throw new Error(`${page} has a diagram that Mermaid cannot parse:\n${text}`, { cause: error })
        })
    },
  }
}
