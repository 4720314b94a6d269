import { epochMillis, type EpochMillis } from '../../domain/time';
import type { StoredGroup } from '../codec';
import { unexpectedReply } from './store-errors';

/** The replies of section/load.lua and section/lock-and-load.lua as a closed union. */
export type LoadReply =
  | { readonly kind: 'BUSY'; readonly redisNowMs: EpochMillis; readonly remainingMs: number }
  | { readonly kind: 'MISSING' | 'WRONG_TYPE'; readonly redisNowMs: EpochMillis }
  | { readonly kind: 'KNOWN'; readonly redisNowMs: EpochMillis; readonly flatLeases: readonly string[] }
  | {
      readonly kind: 'LOADED';
      readonly redisNowMs: EpochMillis;
      readonly stored: StoredGroup;
      readonly flatLeases: readonly string[];
    };

const FIRST_KNOWN_LEASE = 2;
const FIRST_LOADED_LEASE = 9;

export function readLoadReply(operation: string, reply: unknown): LoadReply {
  const values = listOf(operation, reply);
  const redisNowMs = epochMillis(Number(values[1]));
  switch (values[0]) {
    case 'BUSY':
      return { kind: 'BUSY', redisNowMs, remainingMs: Math.max(0, Number(values[2])) };
    case 'MISSING':
    case 'WRONG_TYPE':
      return { kind: values[0], redisNowMs };
    case 'KNOWN':
      return { kind: 'KNOWN', redisNowMs, flatLeases: textsFrom(values, FIRST_KNOWN_LEASE) };
    case 'LOADED':
      return {
        kind: 'LOADED',
        redisNowMs,
        stored: {
          aggregate: textOrNull(values[2]),
          revision: textOrNull(values[3]),
          writeId: textOrNull(values[4]),
          schemaVersion: textOrNull(values[5]),
          layoutVersion: textOrNull(values[6]),
          updatedAt: textOrNull(values[7]),
          redisId: textOrNull(values[8]),
        },
        flatLeases: textsFrom(values, FIRST_LOADED_LEASE),
      };
    default:
      throw unexpectedReply(operation, reply);
  }
}

/** @throws StoreError when it is not a list. */
export function listOf(operation: string, reply: unknown): readonly unknown[] {
  if (!Array.isArray(reply)) throw unexpectedReply(operation, reply);
  return reply;
}

export function textsFrom(values: readonly unknown[], first: number): readonly string[] {
  return values.slice(first).map((value) => textOrNull(value) ?? '');
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
