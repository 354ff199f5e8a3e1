/** The streams of flushed marks: one of all businesses, and one of each that has stores of its own. A leaf. */

/** What the names of its topics begin with. */
export function tenantTopicPrefix(topicPrefix: string, business: string): string {
  return `${topicPrefix}.${business}`
}

/**
 * What the offsets of a stream are kept under, as its topic is called. A business may have a stream of its own and its rows in
 * the common database: under one name its offsets and the others' would be one row, which holds the higher one of two
 * that have nothing to do with each other.
 */
export function markStream(topicPrefix: string, tenant: string | undefined): string {
  return `${tenant === undefined ? topicPrefix : tenantTopicPrefix(topicPrefix, tenant)}.mark-flushes`
}
