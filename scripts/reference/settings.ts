/** The settings of a zod schema: each with its path, its possible values, its default and its description. */
import {
  ZodArray,
  ZodBoolean,
  ZodDefault,
  ZodEffects,
  ZodEnum,
  ZodLiteral,
  ZodNumber,
  ZodObject,
  ZodOptional,
  ZodRecord,
  ZodString,
  ZodUnion,
  type ZodTypeAny,
} from 'zod'
import { code, codes } from './page.ts'

export type Setting = {
  path: string
  key: string
  /** The same for settings that sections share. */
  schema: ZodTypeAny
  /** The possible values in words. Empty if only `part` is possible. */
  value: string
  /** Undefined without a default. */
  fallback: unknown
  isRequired: boolean
  meaning: string
  /** The settings of a value that is a mapping. */
  part: Section | undefined
}

export type Section = {
  path: string
  text: string | undefined
  settings: Setting[]
  /** The default of a section that is a list. */
  listDefault: unknown
}

/** The top-level sections. Throws if a setting has no description, and for a kind of schema that it does not know. */
export function readSettings(schema: ZodTypeAny): Section[] {
  const { core } = unwrapped(schema)
  if (!(core instanceof ZodObject)) throw new Error('the schema of the configuration is not an object')
  return Object.entries(core.shape as Record<string, ZodTypeAny>).map(([key, each]) => {
    const { core: value, fallback } = unwrapped(each)
    const isList = value instanceof ZodArray
    const section = sectionOf(isList ? `${key}[]` : key, isList ? value.element : value)
    if (section === undefined) throw new Error(`the setting "${key}" is not a section`)
    return { ...section, path: key, text: each.description, listDefault: isList ? fallback : undefined }
  })
}

type Unwrapped = { core: ZodTypeAny; fallback: unknown }

/** The schema without defaults, optionality and refinements. */
function unwrapped(schema: ZodTypeAny): Unwrapped {
  if (schema instanceof ZodDefault) return { core: unwrapped(schema.removeDefault()).core, fallback: schema._def.defaultValue() }
  if (schema instanceof ZodOptional) return unwrapped(schema.unwrap())
  if (schema instanceof ZodEffects) return unwrapped(schema.innerType())
  return { core: schema, fallback: undefined }
}

function sectionOf(path: string, schema: ZodTypeAny): Section | undefined {
  const { core } = unwrapped(schema)
  if (!(core instanceof ZodObject)) return undefined
  const shape = core.shape as Record<string, ZodTypeAny>
  return {
    path,
    text: core.description,
    settings: Object.entries(shape).map(([key, each]) => settingOf(`${path}.${key}`, key, each)),
    listDefault: undefined,
  }
}

function settingOf(path: string, key: string, schema: ZodTypeAny): Setting {
  const { core, fallback } = unwrapped(schema)
  const [object, another] = alternatives(core).filter((each) => each instanceof ZodObject)
  if (another !== undefined) throw new Error(`the setting "${path}" has two kinds of mappings: extend scripts/reference/settings.ts`)
  const part = object === undefined ? undefined : sectionOf(path, object)
  const meaning = schema.description ?? core.description
  if (meaning === undefined) throw new Error(`the setting "${path}" has no description: add one in config/`)
  return {
    path,
    key,
    schema,
    value: valueOf(core, path),
    fallback: part === undefined ? fallback : undefined,
    isRequired: !schema.isOptional(),
    meaning,
    part,
  }
}

/** The schemas of a union, and of the unions in it; of another schema, the schema itself. */
function alternatives(schema: ZodTypeAny): readonly ZodTypeAny[] {
  const { core } = unwrapped(schema)
  return core instanceof ZodUnion ? (core.options as ZodTypeAny[]).flatMap(alternatives) : [core]
}

/** The values that a schema accepts, in words. Objects are sections and are left out. */
function valueOf(schema: ZodTypeAny, path: string): string {
  const { core } = unwrapped(schema)
  if (core instanceof ZodObject) return ''
  if (core instanceof ZodUnion) {
    const values = alternatives(core).map((each) => valueOf(each, path))
    return values.filter((value) => value !== '').join(' or ')
  }
  if (core instanceof ZodNumber) return numberValue(core, path)
  if (core instanceof ZodString) return 'text'
  if (core instanceof ZodBoolean) return '`true` or `false`'
  if (core instanceof ZodEnum) return codes(core.options as string[])
  if (core instanceof ZodLiteral) return code(String(core.value))
  if (core instanceof ZodArray) return `list of ${listed(core.element as ZodTypeAny, path)}`
  if (core instanceof ZodRecord) return `mapping of names to ${elementValue(core.valueSchema as ZodTypeAny, path)}`
  throw new Error(`a setting of the kind ${core.constructor.name} is unknown: extend scripts/reference/settings.ts`)
}

function listed(element: ZodTypeAny, path: string): string {
  const value = elementValue(element, path)
  return value === 'text' ? 'texts' : value
}

/** Throws if the element has settings: the page has no rows for them. */
function elementValue(element: ZodTypeAny, path: string): string {
  if (alternatives(element).some((each) => each instanceof ZodObject)) {
    throw new Error(`the settings of each element of "${path}" would not be documented: extend scripts/reference/settings.ts`)
  }
  return valueOf(element, path)
}

const UNITS: readonly (readonly [RegExp, string])[] = [
  [/Ms(Max|Min)?$/, 'milliseconds'],
  [/Seconds$/, 'seconds'],
  [/Minutes$/, 'minutes'],
  [/Hours?$/, 'hours'],
  [/Days$/, 'days'],
  [/Bytes(Max|Min)?$/, 'bytes'],
  [/Percent$/, 'percent'],
  [/Gb$/, 'GB'],
]

function numberValue(schema: ZodNumber, path: string): string {
  const unit = UNITS.find(([form]) => form.test(path))?.[1]
  const bounds = [schema.minValue, schema.maxValue].map((bound) => (bound === null ? '…' : bound.toLocaleString('en-US')))
  return `${schema.isInt ? '' : 'decimal, '}${bounds.join(' to ')}${unit === undefined ? '' : ` ${unit}`}`
}
