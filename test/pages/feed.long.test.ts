/** The home feed of the demo in a real browser, with several viewers in windows of their own. */
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask } from '../../harness/deployment/service.ts'
import { expectAccessible, openPages, type Pages } from './pages.ts'

/** Posts of the sample for everybody, and the welcome of each viewer. */
const SAMPLE = 22

let pages: Pages
beforeAll(async () => {
  pages = await openPages()
})
afterAll(async () => {
  await pages.close()
})

async function openFeed(viewer: string, of: Pages = pages): Promise<Page> {
  const page = await of.open(`/demo?viewer=${viewer}`)
  page.on('dialog', (dialog) => void dialog.accept())
  await page.locator('[data-post]').nth(7).waitFor()
  await page.getByText('live', { exact: true }).waitFor()
  return page
}

function posts(page: Page): Locator {
  return page.locator('[data-post]')
}

function texts(page: Page): Promise<string[]> {
  return page.locator('[data-post] > .text').allTextContents()
}

async function follow(page: Page, id: string): Promise<void> {
  // The page reads the home feed again: a post that is published before would not wait, but be shown.
  const read = page.waitForResponse((response) => response.request().postData()?.includes('query HomeFeed') === true)
  await page.getByLabel('Viewer to follow').fill(id)
  await page.getByRole('button', { name: 'Follow', exact: true }).click()
  await read
  await page.locator(`[data-person=${id}]`).getByRole('button', { name: 'Unfollow' }).waitFor()
}

async function publish(page: Page, text: string, audience?: string): Promise<void> {
  await page.getByLabel('What is new?').fill(text)
  await page.getByLabel('For chosen viewers only').setChecked(audience !== undefined)
  if (audience !== undefined) await page.getByLabel('Viewers', { exact: true }).fill(audience)
  await page.getByRole('button', { name: 'Publish' }).click()
  await page.getByRole('heading', { name: 'Your posts' }).waitFor()
  await posts(page).filter({ hasText: text }).waitFor()
}

async function close(...opened: Page[]): Promise<void> {
  for (const page of opened) await page.context().close()
}

test('a new viewer gets a filled feed with a welcome for them alone, and later pages continue it', async () => {
  const page = await openFeed('ada')
  expect(await page.locator('[data-notice]').textContent()).toBe(
    'ada followed nobody, so a sample was written: people, their posts, and a welcome.',
  )
  const first = posts(page).first()
  expect(await first.textContent()).toContain('Welcome, ada.')
  expect(await first.getByText('For chosen viewers only').count()).toBe(1)
  expect(await page.getByText('New', { exact: true }).count()).toBe(8)
  await expectAccessible(page)
  while ((await page.getByRole('button', { name: 'Show more' }).count()) > 0) {
    const before = await posts(page).count()
    await page.getByRole('button', { name: 'Show more' }).click()
    await posts(page).nth(before).waitFor()
  }
  const ids = await posts(page).evaluateAll((each) => each.map((post) => post.getAttribute('data-post')))
  expect(new Set(ids).size).toBe(SAMPLE + 1)
  expect(ids).toHaveLength(SAMPLE + 1)
  expect(await page.getByText('There are no older posts.').count()).toBe(1)
  await close(page)

  // The second visit writes no sample, and knows what was shown.
  const again = await openFeed('ada')
  expect(await again.locator('[data-notice]').count()).toBe(0)
  expect(await again.getByText('New', { exact: true }).count()).toBe(0)
  await close(again)

  // The sample of a second viewer publishes no post twice.
  const other = await openFeed('ben')
  expect(await texts(other)).toContain('The piano was fine. It floated.')
  expect((await texts(other)).filter((text) => text.includes('ada'))).toEqual([])
  const { data } = await ask(pages.service.url, 'ben', '{ homeFeed(first: 100) { edges { node { id } } } }', {})
  expect(data.homeFeed.edges).toHaveLength(SAMPLE + 1)
  await close(other)
})

test('the window of a follower says that one new post waits, and shows it', async () => {
  const author = await openFeed('carl')
  const follower = await openFeed('dana')
  const stranger = await openFeed('emil')
  await follow(follower, 'carl')
  await publish(author, 'The harbour is frozen.')
  const button = follower.getByRole('button', { name: '1 new post' })
  await button.waitFor()
  await expect.poll(() => follower.title()).toBe('(1) Demo · Tidemark')
  expect(await texts(follower)).not.toContain('The harbour is frozen.')
  await button.click()
  await posts(follower).filter({ hasText: 'The harbour is frozen.' }).waitFor()
  expect((await texts(follower))[0]).toBe('The harbour is frozen.')
  await expect.poll(() => button.count()).toBe(0)
  await expect.poll(() => follower.title()).toBe('Demo · Tidemark')

  await publish(author, 'It thaws.')
  await publish(author, 'It is gone.')
  await follower.getByRole('button', { name: '2 new posts' }).waitFor()
  // A waiting post that is deleted does not wait any more.
  await author.getByRole('button', { name: 'Delete' }).first().click()
  await follower.getByRole('button', { name: '1 new post' }).waitFor()
  expect(await stranger.locator('[data-waiting]').count()).toBe(0)
  await close(author, follower, stranger)
})

test('a post for chosen viewers is marked, comes to them, and no other follower finds it', async () => {
  const author = await openFeed('fay')
  const chosen = await openFeed('gil')
  const other = await openFeed('hal')
  await follow(other, 'fay')
  await publish(author, 'The key is under the boat.', 'gil')
  expect(await author.locator('[data-notice]').textContent()).toBe('Sent to gil. No other viewer can read it.')
  const own = posts(author).filter({ hasText: 'The key' })
  expect(await own.getByText('For chosen viewers only').count()).toBe(1)
  expect(await own.getByRole('button', { name: 'Repost' }).count()).toBe(0)

  await chosen.getByRole('button', { name: '1 new post' }).click()
  const received = posts(chosen).filter({ hasText: 'The key' })
  await received.getByText('For chosen viewers only').waitFor()

  // A public post after it reaches the other follower, so the restricted one would have as well.
  await publish(author, 'Good morning to all.')
  await other.getByRole('button', { name: '1 new post' }).click()
  await posts(other).filter({ hasText: 'Good morning to all.' }).waitFor()
  expect(await texts(other)).not.toContain('The key is under the boat.')
  await other.getByRole('button', { name: 'fay', exact: true }).first().click()
  await other.getByRole('heading', { name: 'Posts of fay' }).waitFor()
  await posts(other).filter({ hasText: 'Good morning to all.' }).waitFor()
  expect(await texts(other)).toEqual(['Good morning to all.'])

  await own.getByRole('button', { name: 'Delete' }).click()
  await expect.poll(() => own.count()).toBe(0)
  await chosen.reload()
  await posts(chosen).nth(7).waitFor()
  expect(await texts(chosen)).not.toContain('The key is under the boat.')
  await close(author, chosen, other)
})

test('a repost shows its source, and says so when the source is deleted', async () => {
  const author = await openFeed('ida')
  const friend = await openFeed('jon')
  await follow(friend, 'ida')
  await publish(author, 'A seal on the pier.')
  await friend.getByRole('button', { name: '1 new post' }).click()
  const source = posts(friend).filter({ hasText: 'A seal on the pier.' })
  await source.getByRole('button', { name: 'Repost' }).click()
  const field = friend.getByLabel('Your words about the post of ida, or none')
  await field.waitFor()
  await expect.poll(() => friend.evaluate<string>('document.activeElement.tagName')).toBe('TEXTAREA')
  await field.fill('Two seals, in fact.')
  await friend.getByRole('form', { name: 'New post' }).getByRole('button', { name: 'Repost', exact: true }).click()
  const repost = posts(friend).filter({ hasText: 'Two seals, in fact.' })
  await repost.locator('blockquote').getByText('A seal on the pier.').waitFor()
  await expectAccessible(friend)

  await author.getByRole('button', { name: 'Your posts' }).click()
  await expect.poll(() => posts(author).first().getByRole('button', { name: 'Repost' }).textContent()).toMatch(/1$/)
  await author.getByRole('button', { name: 'Delete' }).click()
  await expect.poll(() => posts(author).count()).toBe(0)
  await friend.getByRole('button', { name: 'Home feed' }).click()
  await friend.getByRole('button', { name: 'Your posts' }).click()
  await repost.getByText('The shared post was deleted.').waitFor()
  await close(author, friend)
})

test('likes, follows and filter words change the feed at once', async () => {
  const page = await openFeed('kim')
  const other = await openFeed('lea')
  const id = (await posts(page).nth(1).getAttribute('data-post')) as string
  const countOf = (from: Page): Promise<string | null> => from.locator(`[data-likes="${id}"]`).textContent()
  // The likes of the sample are counted together, in one window.
  await expect.poll(async () => Number(await countOf(other))).toBeGreaterThan(0)
  const before = Number(await countOf(other))
  const like = page.locator(`button:has([data-likes="${id}"])`)
  await like.click()
  await expect.poll(() => like.getAttribute('aria-pressed')).toBe('true')
  await expect.poll(async () => Number(await countOf(other))).toBe(before + 1)

  const piano = 'The piano was fine. It floated.'
  expect(await texts(page)).toContain(piano)
  await page.getByLabel('Hide posts with').fill('seal, PIANO')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Posts with seal, PIANO are hidden.').waitFor()
  await expect.poll(() => texts(page)).not.toContain(piano)
  await page.getByLabel('Hide posts with').fill('')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect.poll(() => texts(page)).toContain(piano)

  await page.getByRole('button', { name: 'Unfollow Harbour TV' }).click()
  await expect.poll(() => texts(page)).not.toContain(piano)
  await page.getByRole('button', { name: 'Follow Harbour TV' }).click()
  await expect.poll(() => texts(page)).toContain(piano)
  await close(page, other)
})

test('a mistake in a form is answered by one sentence, and the text stays', async () => {
  const page = await openFeed('max')
  const notice = page.locator('[data-notice=trouble]')
  const said = async (): Promise<string> => {
    await notice.waitFor()
    return (await notice.textContent()) ?? ''
  }
  await page.getByRole('button', { name: 'Publish' }).click()
  expect(await said()).toMatch(/text/)
  await page.getByLabel('What is new?').fill('x'.repeat(2_001))
  expect(await page.getByText('2001 of 2,000').count()).toBe(1)
  await page.getByRole('button', { name: 'Publish' }).click()
  await expect.poll(said).toMatch(/2000/)
  expect(await page.getByLabel('What is new?').inputValue()).toHaveLength(2_001)
  await page.getByLabel('What is new?').fill('For nobody')
  await page.getByLabel('For chosen viewers only').check()
  await page.getByRole('button', { name: 'Publish' }).click()
  await expect.poll(said).toMatch(/audience/)
  await page.getByLabel('Viewer to follow').fill('max')
  await page.getByRole('button', { name: 'Follow', exact: true }).click()
  await expect.poll(said).toMatch(/follow/)
  await page.getByLabel('Hide posts with').fill('x'.repeat(51))
  await page.getByRole('button', { name: 'Save' }).click()
  await expect.poll(said).toMatch(/word/)
  await expectAccessible(page)
  await close(page)
})

test('a mistake stays on the page when another call is answered', async () => {
  const page = await openFeed('max')
  const isPeople = (body: string | null): boolean => body?.includes('query People') === true
  const held = Promise.withResolvers<void>()
  await page.route('**/graphql', async (route) => {
    if (isPeople(route.request().postData())) await held.promise
    await route.continue()
  })
  await page.getByRole('button', { name: 'Home feed' }).click()
  await page.getByRole('button', { name: 'Publish' }).click()
  const notice = page.locator('[data-notice=trouble]')
  await notice.waitFor()
  const answered = page.waitForResponse((response) => isPeople(response.request().postData()))
  held.resolve()
  await (await answered).finished()
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 200)))
  expect(await notice.textContent()).toMatch(/text/)
  await close(page)
})

test('the sample changes nothing for a viewer who has posts of their own', async () => {
  const publishOwn = 'mutation { publishPost(input: { clientKey: "own", text: "My own post" }) { post { id } } }'
  await ask(pages.service.url, 'nora', publishOwn, {})
  const page = await pages.open('/demo?viewer=nora')
  await page.getByText('There are no posts here.').waitFor()
  const { data } = await ask(pages.service.url, 'nora', '{ feedUser { postCount followingCount } }', {})
  expect(data.feedUser).toEqual({ postCount: 1, followingCount: 0 })
  await close(page)
})

test('the feed works by keyboard, and on a telephone without scrolling sideways', async () => {
  const page = await openFeed('otto')
  await page.getByLabel('What is new?').focus()
  await page.keyboard.type('Typed, not clicked.')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Your posts' }).waitFor()
  await posts(page).filter({ hasText: 'Typed, not clicked.' }).getByRole('button', { name: 'Delete' }).focus()
  await page.keyboard.press('Enter')
  await expect.poll(() => posts(page).count()).toBe(0)
  expect(await page.evaluate<string>('document.activeElement.textContent')).toBe('Your posts')
  await page.setViewportSize({ width: 375, height: 700 })
  await page.getByRole('button', { name: 'Home feed' }).click()
  await posts(page).nth(7).waitFor()
  expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(375)
  await expectAccessible(page)
  await close(page)
})

test('a post that was sent while the server was down is published once, after it is back', async () => {
  const own = await openPages()
  try {
    const page = await openFeed('paul', own)
    await page.getByLabel('What is new?').fill('Sent in the dark.')
    await own.restart(async () => {
      await page.getByRole('button', { name: 'Publish' }).click()
      await page.getByText('The server cannot be reached.').waitFor()
      expect(await page.getByLabel('What is new?').inputValue()).toBe('Sent in the dark.')
    })
    await page.getByRole('button', { name: 'Publish' }).click()
    await posts(page).filter({ hasText: 'Sent in the dark.' }).waitFor()
    expect(await texts(page)).toEqual(['Sent in the dark.'])
    await page.getByText('live', { exact: true }).waitFor()
    // The connection follows the home feed again.
    const publishOther = 'mutation { publishPost(input: { clientKey: "after", text: "After the restart" }) { post { id } } }'
    await ask(own.service.url, 'demo-mia', publishOther, {})
    await page.getByRole('button', { name: '1 new post' }).click()
    await posts(page).filter({ hasText: 'After the restart' }).waitFor()
  } finally {
    await own.close()
  }
})

test('on a server without posts, the page names the setting and stops trying, and the videos work', async () => {
  const own = await openPages({ businesses: [{ number: 1, name: 'video', entity: 'Video' }] })
  try {
    const page = await own.open('/demo?viewer=rosa')
    await page.getByText('The home feed needs a business of posts (feed.business).').waitFor()
    let calls = 0
    page.on('request', () => (calls += 1))
    await page.waitForTimeout(3_000)
    expect(calls).toBe(0)
    await page.getByRole('link', { name: 'Videos' }).click()
    await page.locator('[data-feed] .card').nth(7).waitFor()
    expect(own.complaints).toEqual([])
  } finally {
    await own.close()
  }
})

test('no page logged an error or called another machine', () => {
  expect(pages.complaints).toEqual([])
})
