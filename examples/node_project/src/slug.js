/** A title as part of a URL: small letters and digits, with a separator between words. */
export function slug(title, separator = '-') {
  const plain = title.normalize('NFKD').replace(/\p{Mark}/gu, '');
  return plain.toLowerCase().match(/[a-z0-9]+/g)?.join(separator) ?? '';
}
