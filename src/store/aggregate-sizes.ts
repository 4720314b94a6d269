import type { GroupMetadata } from '../domain/group/group-metadata';
import { encodeAggregate } from './aggregate-writer';

/**
 * Length in bytes of the stored form of a value, remembered for as long as the value is. The scripts compare it, so that a
 * value whose stored form was tampered with does not pass for known.
 */
export class AggregateSizes {
  private readonly sizes = new WeakMap<GroupMetadata, number>();

  of(metadata: GroupMetadata): number {
    return this.sizes.get(metadata) ?? this.remember(metadata, encodeAggregate(metadata));
  }

  remember(metadata: GroupMetadata, json: string): number {
    const size = Buffer.byteLength(json);
    this.sizes.set(metadata, size);
    return size;
  }
}
