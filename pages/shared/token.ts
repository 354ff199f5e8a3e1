/** The token of a page. It stays in the session of the tab, for the demo and the console alike. */
import { useState } from 'preact/hooks'
import { html } from './ui.ts'

const KEY = 'tidemark-token'

/** An empty token: none. */
export function useToken(): [token: string, setToken: (next: string) => void] {
  const [token, setToken] = useState(sessionStorage.getItem(KEY) ?? '')
  return [
    token,
    (next) => {
      sessionStorage.setItem(KEY, next)
      setToken(next)
    },
  ]
}

export function TokenField({ token, setToken }: { token: string; setToken: (next: string) => void }) {
  const onChange = (event: Event): void => setToken((event.target as HTMLInputElement).value)
  return html`<label>Token <input type="password" value=${token} onChange=${onChange} /></label>`
}
