/** The sample of the home feed: people, and what they published. Their ids begin with `demo-`, as those of the videos do. */

export const COMMUNITY: readonly { readonly id: string; readonly name: string }[] = [
  { id: 'demo-slow-water', name: 'Slow Water' },
  { id: 'demo-field-notes', name: 'Field Notes' },
  { id: 'demo-harbour-tv', name: 'Harbour TV' },
  { id: 'demo-mia', name: 'Mia Lindqvist' },
  { id: 'demo-omar', name: 'Omar Haddad' },
  { id: 'demo-june', name: 'June Park' },
]

/** `shares`: the place of an earlier post in the list. */
export type SamplePost = { readonly by: string; readonly text: string; readonly shares?: number }

/** Oldest first. */
export const SAMPLE_POSTS: readonly SamplePost[] = [
  { by: 'demo-omar', text: 'New here. I make maps of rivers that move, so expect a lot of blue lines.' },
  { by: 'demo-field-notes', text: 'Notebook 14 starts today: six weeks on the Nile, one page a day.' },
  { by: 'demo-june', text: 'Which camera survives salt water for a month? Asking before I buy the third one.' },
  { by: 'demo-harbour-tv', text: 'Tonight at eight: how Venice pumps its streets dry, and who gets up at four to do it.' },
  { by: 'demo-mia', text: 'Rain all week on Lofoten. The cod do not mind, and neither does the kettle.' },
  { by: 'demo-slow-water', text: 'Lake Baikal is 1,642 metres deep. Our line was 1,600 metres long.' },
  { by: 'demo-field-notes', text: 'Page 3: a heron that fishes beside the ferry, because the propeller brings up small fish.' },
  { by: 'demo-omar', text: 'The Amazon moved one of its loops by 90 metres since my last map. The village moved first.' },
  { by: 'demo-harbour-tv', text: 'Thank you for 400 letters about the pumps. We answer the one about the piano next week.' },
  { by: 'demo-june', text: 'Bought the third camera.' },
  { by: 'demo-mia', text: 'This is why I row and do not measure.', shares: 5 },
  { by: 'demo-slow-water', text: 'We are back on the Wadden Sea in May. Bring boots, and one dry pair of socks more than you think.' },
  { by: 'demo-field-notes', text: 'Page 9: no wind, so no sail, so we read. The captain has only cookbooks.' },
  { by: 'demo-omar', text: 'Does anybody have a tide table of Patagonia from before 1950? I pay in maps.' },
  { by: 'demo-june', text: 'Four minutes of reef at sunrise, no cuts, no music. It is on Harbour TV from Friday.' },
  { by: 'demo-harbour-tv', text: 'On Friday. Turn the sound up: that crackle is shrimp.', shares: 14 },
  { by: 'demo-mia', text: 'Sailed the last leg alone, in the rain, and sang all of it. No recording exists.' },
  { by: 'demo-slow-water', text: 'A short answer to a frequent question: yes, we name the buoys.' },
  { by: 'demo-omar', text: 'Found one, in a drawer in Ushuaia. The oldest line in it says: water everywhere, come later.' },
  { by: 'demo-field-notes', text: 'Page 15: we passed the place where page 1 was written. It is under water now.' },
  { by: 'demo-june', text: '', shares: 17 },
  { by: 'demo-harbour-tv', text: 'The piano was fine. It floated.' },
]

const NAMES = new Map(COMMUNITY.map(({ id, name }) => [id, name]))

/** The id itself for a viewer who is not in the sample. */
export function nameOf(id: string): string {
  return NAMES.get(id) ?? id
}
