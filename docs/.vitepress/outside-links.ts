/**
 * Links that leave docs/, such as those of a decision to its source file. They work in the repository, where `npm run
 * check:links` checks them; the site has no such pages, so it shows the text of the link alone.
 */
import { posix } from 'node:path'
import type { MarkdownRenderer } from 'vitepress'

export function showOutsideLinksAsText(md: MarkdownRenderer): void {
  md.core.ruler.push('outside-links', ({ tokens, env }) => {
    const page: string = env.relativePath ?? ''
    for (const { children } of tokens) {
      if (children === null) continue
      let isOutside = false
      for (const token of children) {
        if (token.type === 'link_open') isOutside = leavesDocs(page, token.attrGet('href') ?? '')
        if (!isOutside || !token.type.startsWith('link_')) continue
        Object.assign(token, { type: token.type === 'link_open' ? 'em_open' : 'em_close', tag: 'em', attrs: null })
      }
    }
  })
}

function leavesDocs(page: string, href: string): boolean {
  if (/^([a-z]+:|\/|#)/i.test(href)) return false
  return posix.join(posix.dirname(page), href).startsWith('..')
}
