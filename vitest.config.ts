import { createRequire } from 'node:module'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

const require = createRequire(import.meta.url)

/** Whole processes, chaos, long simulations: minutes instead of seconds. `npm run test:long`. */
const LONG = 'test/**/*.long.test.ts'
/**
 * These tests leave nothing behind in their process: no open server, no fake timer, no changed global. They share the modules of a worker,
 * which saves loading them for each file. A test may open servers and connections if it closes them.
 */
const PURE = ['config', 'contracts', 'core', 'gateway', 'loaders'].map((folder) => `test/${folder}/**/*.test.ts`)

export default defineConfig({
  // Vitest would load `graphql` once as ESM and once as CommonJS, and errors of the one are unknown to the other.
  resolve: { alias: [{ find: /^graphql$/, replacement: require.resolve('graphql') }] },
  test: {
    reporters: ['default', './test/support/closing-line.ts'],
    // As in npm start: a process that a test starts is then ready in little more than half the time.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules', '.cache', 'tidemark') },
    globalSetup: ['test/support/not-tested.ts'],
    // No test meets these limits, even on a slow machine. They end tests that hang.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    // More than the two cores of a small machine, because tests wait for servers and processes.
    maxWorkers: 3,
    projects: [
      { extends: true, test: { name: 'pure', include: PURE, exclude: [LONG], isolate: false, restoreMocks: true } },
      { extends: true, test: { name: 'short', include: ['test/**/*.test.ts'], exclude: [LONG, ...PURE] } },
      { extends: true, test: { name: 'long', include: [LONG] } },
    ],
  },
})
