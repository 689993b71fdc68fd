import { text } from 'node:stream/consumers';

import { slug } from './slug.js';

const titles = (await text(process.stdin)).split('\n').filter((line) => line !== '');
for (const title of titles) {
  console.log(slug(title, process.argv[2]));
}
