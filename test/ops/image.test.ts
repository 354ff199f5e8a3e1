/** The Dockerfile as a file. containers.long.test.ts runs its commands. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CHECKOUT, readImage } from '../../harness/containers/image.ts'

const image = readImage()
const { license, devDependencies } = JSON.parse(readFileSync(join(CHECKOUT, 'package.json'), 'utf8')) as {
  license: string
  devDependencies: { node: string }
}

describe('the image', () => {
  it('has the version of Node that the tests run on', () => {
    expect(image.base).toBe(`node:${devDependencies.node}-bookworm-slim`)
  })

  it('names its licence and its base', () => {
    expect(image.labels).toMatchObject({
      'org.opencontainers.image.licenses': license,
      'org.opencontainers.image.base.name': `docker.io/library/${image.base}`,
    })
    expect(image.copies.flatMap(({ from }) => from)).toContain('LICENSE')
  })

  it('runs in production, as a user without rights', () => {
    expect(image.user).toBe('node')
    expect(image.environment).toMatchObject({ NODE_ENV: 'production', TIDEMARK_MODE: 'production', TIDEMARK_DATA: '/data' })
  })
})
