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
  const object = core instanceof ZodUnion ? alternatives(core).find((each) => each instanceof ZodObject) : core
  const part = object === undefined ? undefined : sectionOf(path, object)
  const meaning = schema.description ?? core.description
  if (meaning === undefined) throw new Error(`the setting "${path}" has no description: add one in config/`)
  return {
    path,
    key,
    schema,
    value: valueOf(core, key),
    fallback: part === undefined ? fallback : undefined,
    isRequired: !schema.isOptional(),
    meaning,
    part,
  }
}

function alternatives(union: ZodTypeAny): readonly ZodTypeAny[] {
  return union instanceof ZodUnion ? (union.options as ZodTypeAny[]).map((each) => unwrapped(each).core) : [union]
}

/** The values that a schema accepts, in words. Objects are sections and are left out. */
function valueOf(schema: ZodTypeAny, key: string): string {
  const { core } = unwrapped(schema)
  if (core instanceof ZodObject) return ''
  if (core instanceof ZodUnion) {
    const values = alternatives(core).map((each) => valueOf(each, key))
    return values.filter((value) => value !== '').join(' or ')
  }
  if (core instanceof ZodNumber) return numberValue(core, key)
  if (core instanceof ZodString) return 'text'
  if (core instanceof ZodBoolean) return '`true` or `false`'
  if (core instanceof ZodEnum) return codes(core.options as string[])
  if (core instanceof ZodLiteral) return code(String(core.value))
  if (core instanceof ZodArray) return `list of ${listed(core.element as ZodTypeAny, key)}`
  if (core instanceof ZodRecord) return `mapping of names to ${valueOf(core.valueSchema as ZodTypeAny, key)}`
  throw new Error(`a setting of the kind ${core.constructor.name} is unknown: extend scripts/reference/settings.ts`)
}

function listed(element: ZodTypeAny, key: string): string {
  const value = valueOf(element, key)
  return value === 'text' ? 'texts' : value
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

function numberValue(schema: ZodNumber, key: string): string {
  const unit = UNITS.find(([form]) => form.test(key))?.[1]
  const bounds = [schema.minValue, schema.maxValue].map((bound) => (bound === null ? '…' : bound.toLocaleString('en-US')))
  return `${schema.isInt ? '' : 'decimal, '}${bounds.join(' to ')}${unit === undefined ? '' : ` ${unit}`}`
}
