import { InvalidEntryError } from './publish-errors';
import type { EntryFields } from './stream-appender';

export type FieldValue = string | number | boolean | Buffer;
/** Named fields, or one text or binary payload, which becomes the field `payload`. */
export type EntryContent = Readonly<Record<string, FieldValue>> | string | Buffer;

export const PAYLOAD_FIELD = 'payload';

/** Throws InvalidEntryError for a content that Redis cannot store as it is. */
export function entryFields(content: EntryContent): EntryFields {
  if (typeof content === 'string' || Buffer.isBuffer(content)) return [PAYLOAD_FIELD, content];
  const fields: (string | Buffer)[] = [];
  for (const name in content) {
    const value: unknown = content[name];
    if (typeof value === 'string' || Buffer.isBuffer(value)) fields.push(name, value);
    else if (typeof value === 'number' || typeof value === 'boolean') fields.push(name, String(value));
    else throw new InvalidEntryError(`field ${name} is neither text, number, boolean nor Buffer`);
  }
  if (fields.length === 0) throw new InvalidEntryError('an entry needs at least one field');
  return fields;
}
