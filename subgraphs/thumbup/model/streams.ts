/** The streams of flushed marks: the common one, and one for each tenant. */

/** The prefix of a tenant's topics. */
export function tenantTopicPrefix(topicPrefix: string, business: string): string {
  return `${topicPrefix}.${business}`
}

/**
 * The name under which the offsets of a stream are kept, equal to the name of its topic. A tenant may have its own stream and rows in the
 * common database. Under one name, its offsets and the common ones would share a row, which keeps only the higher of two unrelated values.
 */
export function markStream(topicPrefix: string, tenant: string | undefined): string {
  return `${tenant === undefined ? topicPrefix : tenantTopicPrefix(topicPrefix, tenant)}.mark-flushes`
}
