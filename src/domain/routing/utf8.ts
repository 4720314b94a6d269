/** One byte per UTF-16 unit below this. */
export const ASCII_LIMIT = 0x80;
const TWO_BYTE_LIMIT = 0x800;
const SURROGATE_START = 0xd800;
const SURROGATE_END = 0xe000;
const SUPPLEMENTARY_START = 0x10000;
const REPLACEMENT_CHARACTER = 0xfffd;

/** The bytes that TextEncoder makes: a surrogate without its other half becomes U+FFFD. */
export function utf8Bytes(text: string): number[] {
  const bytes: number[] = [];
  for (const character of text) {
    let point = character.codePointAt(0) ?? REPLACEMENT_CHARACTER;
    if (point >= SURROGATE_START && point < SURROGATE_END) point = REPLACEMENT_CHARACTER;
    pushUtf8(bytes, point);
  }
  return bytes;
}

function pushUtf8(bytes: number[], point: number): void {
  if (point < ASCII_LIMIT) {
    bytes.push(point);
  } else if (point < TWO_BYTE_LIMIT) {
    bytes.push(0xc0 | (point >> 6), continuation(point));
  } else if (point < SUPPLEMENTARY_START) {
    bytes.push(0xe0 | (point >> 12), continuation(point >> 6), continuation(point));
  } else {
    bytes.push(
      0xf0 | (point >> 18),
      continuation(point >> 12),
      continuation(point >> 6),
      continuation(point),
    );
  }
}

function continuation(bits: number): number {
  return 0x80 | (bits & 0x3f);
}
