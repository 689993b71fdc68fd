import assert from 'node:assert/strict';
import { test } from 'node:test';

import { slug } from '../src/slug.js';

test('words are joined', () => {
  assert.equal(slug('Tea, and  Kettles!'), 'tea-and-kettles');
  assert.equal(slug('Tea and Kettles', '_'), 'tea_and_kettles');
});

test('letters lose their marks', () => {
  assert.equal(slug('Crème brûlée'), 'creme-brulee');
});

test('without letters nothing is left', () => {
  assert.equal(slug('…'), '');
});
