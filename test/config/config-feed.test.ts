import { describe, expect, it } from 'vitest'
import { feedSchema } from '../../config/change-feed.ts'

describe('the settings of the change feed', () => {
  it('default to the events of the service', () =>
    expect(feedSchema.parse({})).toEqual({ feed: 'events', staleAfterMs: 10_000, backAfterMs: 30_000 }))

  it.each([
    [{ feed: 'canal' }, /canalTopic names the topic/],
    [{ feed: 'binlog', canalTopic: 'cdc' }, /give both or neither/],
    [{ feed: 'canal', canalTopic: 'a b' }, /use letters, digits/],
    [{ feed: 'debezium' }, /binlog/],
    [{ staleAfterMs: 10 }, /1000/],
    [{ stale: 1 }, /stale/],
  ])('%j is refused with the reason', (settings, sentence) => expect(feedSchema.safeParse(settings).error?.message).toMatch(sentence))
})
