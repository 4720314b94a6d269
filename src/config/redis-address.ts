import { checkedRedisUrl, RedisUrlError } from '../redis/redis-url';
import type { OptionReading } from './option-kinds';

/** Checks a Redis URL. The explanation never shows it: it may hold a password. */
export function readRedisUrl(text: string): OptionReading<string> {
  try {
    return { value: checkedRedisUrl(text) };
  } catch (error) {
    if (error instanceof RedisUrlError) return { fault: `is refused: ${error.message}` };
    throw error;
  }
}
