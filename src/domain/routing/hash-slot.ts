import { utf8Bytes } from './utf8';

/** Redis Cluster's number of hash slots. */
export const HASH_SLOT_COUNT = 16_384;

const CRC16_XMODEM_POLYNOMIAL = 0x1021;
const CRC16_TABLE = crc16Table();

/**
 * The Redis Cluster hash slot of `key`: CRC16 (XMODEM) of its UTF-8 bytes, modulo 16,384. If the key has a hash tag, only the
 * tag counts: what is between the first `{` and the next `}`, unless that is empty. Source: Redis Cluster specification.
 */
export function hashSlot(key: string): number {
  return crc16(utf8Bytes(hashTagOf(key))) % HASH_SLOT_COUNT;
}

function hashTagOf(key: string): string {
  const open = key.indexOf('{');
  if (open < 0) return key;
  const close = key.indexOf('}', open + 1);
  return close <= open + 1 ? key : key.slice(open + 1, close);
}

function crc16(bytes: readonly number[]): number {
  let crc = 0;
  for (const byte of bytes) {
    crc = ((crc << 8) & 0xffff) ^ (CRC16_TABLE[((crc >> 8) ^ byte) & 0xff] ?? 0);
  }
  return crc;
}

function crc16Table(): Uint16Array {
  const table = new Uint16Array(256);
  for (let byte = 0; byte < table.length; byte++) {
    let crc = byte << 8;
    for (let bit = 0; bit < 8; bit++) {
      crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ CRC16_XMODEM_POLYNOMIAL;
    }
    table[byte] = crc;
  }
  return table;
}
