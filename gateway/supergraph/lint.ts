/**
 * Rules over the subgraphs' schemas for problems that composition does not find. Each rule has an id. Rules warn and never refuse. They
 * concern effects between subgraphs, not style.
 */
import type { SubgraphSdl } from './subgraph-sdl.ts'
import { viewGraph, type FieldView, type GraphView, type TypeView } from './graph-view.ts'

export type Warning = {
  /** The rule's id. */
  readonly rule: string
  /** The subgraph to change. */
  readonly subgraph: string
  /** A schema coordinate. */
  readonly place: string
  readonly sentence: string
}

type Rule = { readonly id: string; check(type: string, views: readonly TypeView[], graph: GraphView): Omit<Warning, 'rule'>[] }

/** Sorted by place, then by rule. Throws CONFIG_INVALID if an SDL cannot be read. */
export function lintSubgraphs(subgraphs: readonly SubgraphSdl[]): Warning[] {
  const graph = viewGraph(subgraphs)
  const warnings = RULES.flatMap((rule) =>
    [...graph].flatMap(([type, views]) => rule.check(type, views, graph).map((warning) => ({ rule: rule.id, ...warning }))),
  )
  // Only warnings about partners' subgraphs are shown: the user can change those, but not ours.
  const partners = new Set(subgraphs.filter(({ url }) => url !== undefined).map(({ name }) => name))
  const shown = partners.size === 0 ? warnings : warnings.filter(({ subgraph }) => partners.has(subgraph))
  const keyOf = ({ place, rule, subgraph }: Warning) => `${place}\n${rule}\n${subgraph}`
  return shown.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
}

const ROOTS = new Set(['Query', 'Mutation', 'Subscription'])

const RULES: readonly Rule[] = [
  {
    id: 'non-null-across-subgraphs',
    check(type, views) {
      if (views.length < 2 || !isEntity(views)) return []
      const keys = keyFieldsOf(views)
      return fieldsOf(views).flatMap(({ view, field }) =>
        field.isNonNull && !field.isExternal && !keys.has(field.name)
          ? [
              at(
                view,
                field,
                `${type}.${field.name} is non-null: if "${view.subgraph}" does not answer, the null propagates and removes ` +
                  `the fields of the ${type} from ${others(views, view)} as well; make it nullable`,
              ),
            ]
          : [],
      )
    },
  },
  {
    id: 'non-null-root',
    check(type, views) {
      if (type !== 'Query' || views.length < 2) return []
      return fieldsOf(views).flatMap(({ view, field }) =>
        field.isNonNull
          ? [
              at(
                view,
                field,
                `Query.${field.name} is non-null: if "${view.subgraph}" does not answer, an operation that also asks ` +
                  `${others(views, view)} gets no data; make it nullable`,
              ),
            ]
          : [],
      )
    },
  },
  {
    id: 'entity-without-key',
    check(type, views) {
      if (ROOTS.has(type) || views.length < 2 || !isEntity(views)) return []
      const keys = keyFieldsOf(views)
      return views.flatMap((view) => {
        const own = [...view.fields.values()].filter((field) => !field.isExternal && !keys.has(field.name) && !isShared(view, field, views))
        if (own.length === 0 || view.keys.some(({ isResolvable }) => isResolvable)) return []
        return [
          {
            subgraph: view.subgraph,
            place: type,
            sentence:
              `"${view.subgraph}" has ${type}.${own[0]?.name} but no resolvable @key of ${type}: the field cannot be reached from ` +
              `${others(views, view)}; add a key with a reference resolver`,
          },
        ]
      })
    },
  },
  {
    id: 'shareable-without-need',
    check(type, views) {
      // All subgraphs may share Relay's PageInfo, also those that join later.
      if (type === 'PageInfo') return []
      return views.flatMap((view) => {
        const alone = (field: FieldView) => !views.some((other) => other !== view && other.fields.has(field.name))
        if (view.isShareable) {
          if (![...view.fields.values()].every(alone)) return []
          return [{ subgraph: view.subgraph, place: type, sentence: sentenceOfShareable(type, view) }]
        }
        return [...view.fields.values()].flatMap((field) =>
          field.isShareable && alone(field) ? [at(view, field, sentenceOfShareable(`${type}.${field.name}`, view))] : [],
        )
      })
    },
  },
  {
    id: 'list-without-limit',
    check(type, views, graph) {
      if (type.endsWith('Connection')) return []
      return fieldsOf(views).flatMap(({ view, field }) =>
        field.isList && !field.isLimited && !field.isExternal && isComposite(graph, field.namedType)
          ? [
              at(
                view,
                field,
                `${type}.${field.name} returns a list of ${field.namedType} of any length: page it (first, after), or declare its size with @listSize`,
              ),
            ]
          : [],
      )
    },
  },
  {
    id: 'differing-types',
    check(type, views) {
      return pairs(views).flatMap(({ view, first, field, known }) =>
        field.type === known.type
          ? []
          : [
              at(
                view,
                field,
                `${type}.${field.name} is ${field.type} in "${view.subgraph}" and ${known.type} in "${first.subgraph}": clients get ` +
                  'the weaker type; use one type',
              ),
            ],
      )
    },
  },
  {
    id: 'differing-descriptions',
    check(type, views) {
      const described = views.filter(({ description }) => description !== undefined)
      const ofType = described
        .slice(1)
        .filter(({ description }) => description !== described[0]?.description)
        .map((view) => ({ subgraph: view.subgraph, place: type, sentence: sentenceOfDescriptions(type, view, described[0] ?? view) }))
      const ofFields = pairs(views).flatMap(({ view, first, field, known }) =>
        field.description === undefined || known.description === undefined || field.description === known.description
          ? []
          : [at(view, field, sentenceOfDescriptions(`${type}.${field.name}`, view, first))],
      )
      return [...(ROOTS.has(type) ? [] : ofType), ...ofFields]
    },
  },
  {
    id: 'root-without-description',
    check(type, views) {
      if (!ROOTS.has(type)) return []
      return fieldsOf(views).flatMap(({ view, field }) =>
        field.description === undefined
          ? [at(view, field, `${type}.${field.name} has no description: describe its purpose, its limits and its errors`)]
          : [],
      )
    },
  },
  {
    id: 'override',
    check(type, views) {
      return fieldsOf(views).flatMap(({ view, field }) =>
        field.override === undefined
          ? []
          : [
              at(
                view,
                field,
                `"${view.subgraph}" overrides ${type}.${field.name} of "${field.override}": an override is for a migration; ` +
                  `when it is complete, remove the field from "${field.override}"`,
              ),
            ],
      )
    },
  },
]

function at(view: TypeView, field: FieldView, sentence: string): Omit<Warning, 'rule'> {
  return { subgraph: view.subgraph, place: `${view.name}.${field.name}`, sentence }
}

function fieldsOf(views: readonly TypeView[]): { view: TypeView; field: FieldView }[] {
  return views.flatMap((view) => (view.kind === 'other' ? [] : [...view.fields.values()].map((field) => ({ view, field }))))
}

/** Each field that an earlier subgraph resolves as well, with the first such field. */
function pairs(views: readonly TypeView[]): { view: TypeView; first: TypeView; field: FieldView; known: FieldView }[] {
  return fieldsOf(views).flatMap(({ view, field }) => {
    const first = views.find((other) => other.fields.get(field.name)?.isExternal === false)
    const known = first?.fields.get(field.name)
    return first === undefined || first === view || known === undefined || field.isExternal ? [] : [{ view, first, field, known }]
  })
}

function isEntity(views: readonly TypeView[]): boolean {
  return views.some(({ kind, keys }) => kind === 'object' && keys.length > 0)
}

function isShared(view: TypeView, field: FieldView, views: readonly TypeView[]): boolean {
  return views.some((other) => other !== view && other.fields.get(field.name)?.isExternal === false)
}

function isComposite(graph: GraphView, type: string): boolean {
  return (graph.get(type) ?? []).some(({ kind }) => kind !== 'other')
}

function keyFieldsOf(views: readonly TypeView[]): Set<string> {
  return new Set(views.flatMap(({ keys }) => keys.flatMap(({ fields }) => fields)))
}

function others(views: readonly TypeView[], view: TypeView): string {
  return views
    .filter((other) => other !== view)
    .map(({ subgraph }) => `"${subgraph}"`)
    .join(', ')
}

function sentenceOfShareable(place: string, { subgraph }: TypeView): string {
  return `${place} is @shareable in "${subgraph}", but no other subgraph has it: remove the directive, so that composition reports a second definition`
}

function sentenceOfDescriptions(place: string, view: TypeView, first: TypeView): string {
  return `${place} is described differently in "${view.subgraph}" and "${first.subgraph}": clients see only one; use the same text`
}
