/**
 * The sample for a viewer without a feed: people who publish, a list of followed users, and a post for this viewer alone. It is written
 * through the API, like everything else here.
 */
import { call, type Identity } from '../../shared/api.ts'
import { MARKS, type Marks } from '../operations.ts'
import { randomOf, seedOf } from '../random.ts'
import { VIEWERS } from '../view.ts'
import { COMMUNITY, SAMPLE_POSTS } from './community.ts'
import { FOLLOW, OWN, PEOPLE, PUBLISH, type Follow, type Own, type People, type Publish } from './operations.ts'

const FANS_MAX = 9
/** Of one call. */
const MARKS_MAX = 500

/** Resolves with true if the viewer had no feed and the sample is written. */
export async function fillIfEmpty(identity: Identity, viewer: string): Promise<boolean> {
  const { data: own } = await call<Own>(identity, OWN)
  const isEmpty = own?.viewer?.followingCount === 0 && own.viewer.postCount === 0 && own.homeFeed?.edges.length === 0
  if (!isEmpty || own.filterWords?.words.length !== 0) return false
  try {
    await publishAll(viewer)
  } catch {
    // With a token of one viewer the calls for others are refused, and there is no sample.
    return false
  }
  const ids = [...COMMUNITY.map(({ id }) => id), ...VIEWERS.filter((each) => each !== viewer)]
  const { data } = await call<Follow>(identity, FOLLOW, { ids })
  return data?.changed?.results.some(({ outcome }) => outcome === 'CHANGED') === true
}

async function publishAll(viewer: string): Promise<void> {
  const { data: people } = await call<People>({ viewer: 'demo-sample' }, PEOPLE)
  if (COMMUNITY.some((_, at) => people?.[`person${at}`]?.postCount === 0)) await publishPosts()
  const welcome = `Welcome, ${viewer}. This post is for you alone: no other viewer finds it, whether they follow us or not.`
  await publish('demo-slow-water', { clientKey: `welcome-${seedOf(viewer)}`, text: welcome, audience: [viewer] })
}

/** The client keys are the same for each visitor, so two windows that fill at once publish each post once. */
async function publishPosts(): Promise<void> {
  const ids: (string | undefined)[] = []
  for (const [at, { by, text, shares }] of SAMPLE_POSTS.entries()) {
    const source = shares === undefined ? undefined : ids[shares]
    ids.push(await publish(by, { clientKey: `sample-${at}`, text, source }))
  }
  const random = randomOf(3)
  const marks = ids.flatMap((id) =>
    Array.from({ length: Math.floor(random() * FANS_MAX) }, (_, at) => ({
      business: 'post',
      id,
      mark: 'LIKE',
      viewer: `demo-fan-${at + 1}`,
    })),
  )
  await call<Marks>({ viewer: 'demo-sample', scopes: 'marks:write-any' }, MARKS, { marks: marks.slice(0, MARKS_MAX) })
}

async function publish(author: string, input: object): Promise<string | undefined> {
  const { data } = await call<Publish>({ viewer: author }, PUBLISH, { input })
  return data?.publishPost?.post?.id
}
