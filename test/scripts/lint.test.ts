/** Rules of the linter that the project adds: cycles, and the size of files and functions. */
import { describe, expect, test } from 'vitest'
import { plantedRepository } from './planted.ts'

const { plant, lint } = plantedRepository()

const FUNCTION_LINES = (lines: number) => `export function planted(): number {\n${'  planted()\n'.repeat(lines - 3)}  return 1\n}\n`
const FILE_LINES = (lines: number) => '// One line.\n'.repeat(lines - 1) + 'export const planted = 1\n'

describe('cycles', () => {
  test('two files that import a type of each other fail', () => {
    plant('core/one.ts', "import type { Two } from './two.ts'\nexport type One = { two: Two }\n")
    plant('core/two.ts', "import type { One } from './one.ts'\nexport type Two = { one: One }\n")
    const { status, printed } = lint()
    expect(status).toBe(1)
    expect(printed.join('\n')).toContain('import(no-cycle)')
  })
})

describe('sizes', () => {
  test('a file of 400 lines and a function of 100 lines pass', () => {
    plant('core/file.ts', FILE_LINES(400))
    plant('core/function.ts', FUNCTION_LINES(100))
    expect(lint().status).toBe(0)
  })

  test.each(['core/planted.ts', 'harness/planted.ts', 'bench/planted.ts', 'scripts/planted.ts', 'test/core/planted.test.ts'])(
    'a file of 401 lines fails in %s',
    (path) => {
      plant(path, FILE_LINES(401))
      const { status, printed } = lint()
      expect(status).toBe(1)
      expect(printed.join('\n')).toContain('eslint(max-lines)')
    },
  )

  test.each(['core/planted.ts', 'harness/planted.ts', 'bench/planted.ts', 'scripts/planted.ts', 'test/support/planted.ts'])(
    'a function of 101 lines fails in %s',
    (path) => {
      plant(path, FUNCTION_LINES(101))
      const { status, printed } = lint()
      expect(status).toBe(1)
      expect(printed.join('\n')).toContain('eslint(max-lines-per-function)')
    },
  )

  test.each(['test/core/planted.test.ts', 'test/contracts/history/planted.ts'])('a long suite in %s passes', (path) => {
    plant(path, FUNCTION_LINES(101))
    expect(lint().status).toBe(0)
  })

  test('an exception names the function and its reason, and passes the linter', () => {
    plant(
      'core/planted.ts',
      `// oxlint-disable-next-line eslint/max-lines-per-function -- one table, read from top to bottom\n${FUNCTION_LINES(101)}`,
    )
    expect(lint().status).toBe(0)
  })
})
