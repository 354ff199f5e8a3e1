import fc from 'fast-check'
import { parse, visit } from 'graphql'
import type { GraphQLInputObjectType } from 'graphql'
import { describe, expect, test } from 'vitest'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { plannerText } from '../../../gateway/operation/planner-text.ts'
import { makePlanner } from '../../../gateway/operation/planner.ts'

const SUPERGRAPH = parse(
  composeSupergraph([
    {
      name: 'words',
      sdl: `
        "type" type Query { "field" say("argument" text: String = "default", input: Said): String old: String @deprecated(reason: "reason") }
        input Said { texts: [String!]! = ["default"] } enum Kind { "value" OPEN }`,
    },
  ]),
)

/** The texts of the API schema, where the supergraph has `text` in each place. */
function textsWith(text: string, block: boolean): unknown[] {
  const places = new Set(['type', 'field', 'argument', 'default', 'reason', 'value'])
  const sdl = plannerText(
    visit(SUPERGRAPH, { StringValue: (node) => (places.has(node.value) ? { ...node, value: text, block } : undefined) }),
  )
  const { schema } = makePlanner(sdl)
  const { say, old } = schema.getQueryType()?.getFields() ?? {}
  const kind = schema.getType('Kind')
  return [
    schema.getQueryType()?.description,
    say?.description,
    say?.args[0]?.description,
    say?.args[0]?.defaultValue,
    (schema.getType('Said') as GraphQLInputObjectType).getFields()['texts']?.defaultValue,
    old?.deprecationReason,
    kind?.astNode?.kind === 'EnumTypeDefinition' ? kind.astNode.values?.[0]?.description?.value : undefined,
  ]
}

const TEXT = fc.oneof(
  fc.string({ unit: fc.constantFrom(...' \t\n\r\b\f"\\%a第\u0000\u007F\u0085\u00A0\u2028\u3000\uFEFF'.split(''), '😀', '%0A') }),
  fc.string({ unit: 'binary' }),
)
const sevenOf = (text: string) => [text, text, text, text, [text], text, text]

describe('the API schema has the descriptions and default values of the supergraph', () => {
  test.each(['Like 👍', '\u3000第一\n \u3000第二\n', '100%', '%41', '\\b', 'a "quote"', '"""', ''])('%j', (text) => {
    expect(textsWith(text, false)).toEqual(sevenOf(text))
  })

  test('any text', () => {
    fc.assert(
      fc.property(TEXT, fc.boolean(), (text, block) => {
        expect(textsWith(text, block)).toEqual(sevenOf(text))
      }),
      { numRuns: 200 },
    )
  })

  test('a description whose indentation ends within an ideographic space does not end the process', () => {
    const sdl = `"""\n\u3000a\n  \u3000b\n""" type Query { word: String }`
    expect(makePlanner(composeSupergraph([{ name: 'words', sdl }])).schema.getQueryType()?.description).toBe('\u3000a\n  \u3000b')
  })
})
