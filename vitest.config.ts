import { createRequire } from 'node:module'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

const require = createRequire(import.meta.url)

export default defineConfig({
  // Vitest would load `graphql` once as ESM and once as CommonJS, and errors of the one are unknown to the other.
  resolve: { alias: [{ find: /^graphql$/, replacement: require.resolve('graphql') }] },
  test: {
    include: ['test/**/*.test.ts'],
    reporters: ['default', './test/support/closing-line.ts'],
    // As in npm start: a process that a test starts is then ready in little more than half the time.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules', '.cache', 'tidemark') },
    globalSetup: ['test/support/not-tested.ts'],
    // A slow machine meets none of these: what takes so long never ends.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    maxWorkers: 2,
  },
})
