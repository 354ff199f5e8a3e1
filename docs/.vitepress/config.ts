/**
 * The documentation site. `npm run docs` builds it into docs/.vitepress/dist, which any web server can serve.
 *
 * The built site loads nothing from other hosts: search, fonts and diagrams are part of it. A link to a page that does not
 * exist fails the build, and so does a diagram that Mermaid cannot parse.
 */
import { defineConfig } from 'vitepress'
import { anchorOf } from '../../scripts/document-links.ts'
import { mermaidFences } from './mermaid-fences.ts'
import { showOutsideLinksAsText } from './outside-links.ts'
import { sidebarOf } from './sidebar.ts'

const diagrams = mermaidFences()

export default defineConfig({
  title: 'Tidemark',
  description: 'A federated GraphQL API for watch history, likes and feed de-duplication',
  cleanUrls: true,
  ignoreDeadLinks: 'localhostLinks',
  markdown: {
    config(markdown) {
      diagrams.use(markdown)
      showOutsideLinksAsText(markdown)
    },
    anchor: { slugify: anchorOf },
  },
  vite: { build: { chunkSizeWarningLimit: 4_000 } },
  buildEnd: diagrams.check,
  themeConfig: {
    outline: [2, 3],
    search: { provider: 'local' },
    sidebar: sidebarOf(new URL('..', import.meta.url)),
  },
})
