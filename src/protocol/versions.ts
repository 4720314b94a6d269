/** The coordination protocol versions that this build speaks. */
export const CURRENT_PROTOCOL_VERSION = 1;
export const MIN_PROTOCOL_VERSION = 1;
export const MAX_PROTOCOL_VERSION = 1;

export function isSupportedProtocolVersion(version: number): boolean {
  return version >= MIN_PROTOCOL_VERSION && version <= MAX_PROTOCOL_VERSION;
}
