/** A made-up catalog of a hundred videos by five users. A real service has a database here. */
const AUTHORS = ['Ada', 'Barbara', 'Grace', 'Hedy', 'Mary']
const TITLES = ['Tides', 'Currents', 'Waves', 'Harbours', 'Lighthouses', 'Sails', 'Knots', 'Storms', 'Charts', 'Stars']

export const users = new Map(
  AUTHORS.map((name, index) => {
    const id = `u${index + 1}`
    return [id, { id, name, avatar: `https://partner.example/avatars/${id}.png` }]
  }),
)

export const videos = new Map(
  Array.from({ length: 100 }, (_, index) => {
    const id = String(index + 1)
    const title = `${TITLES[index % TITLES.length]}, part ${Math.floor(index / TITLES.length) + 1}`
    return [id, { id, title, authorId: `u${(index % AUTHORS.length) + 1}`, duration: (10 + (index % 50)) * 60_000 }]
  }),
)
