import { Inject, Injectable } from '@nestjs/common';
import { GroupReader } from '../critical-section/group-reader';
import { MetadataCorruptError, MetadataSchemaUnsupportedError } from '../critical-section/section-errors';
import type { GroupKey } from '../domain/ids';
import { groupViewOf } from '../http/group.view';
import type { GroupsPage, GroupView, UnreadableGroup } from '../protocol';
import type { GroupIndex } from '../store/group-index';
import { GROUP_INDEX } from '../store/store.tokens';
import type { GroupsQueryDto } from './monitoring.dto';

const DEFAULT_PAGE_SIZE = 100;
/** Pages of the index that one request looks through for groups that match: then it answers with what it has. */
const MAX_INDEX_PAGES = 20;

type Read = { readonly view: GroupView } | { readonly unreadable: UnreadableGroup } | null;

/** GET /monitoring/groups: pages through the index, reading each group. */
@Injectable()
export class GroupListService {
  constructor(
    @Inject(GROUP_INDEX) private readonly index: GroupIndex,
    private readonly reader: GroupReader,
  ) {}

  async page(query: GroupsQueryDto): Promise<GroupsPage> {
    const limit = query.limit ?? DEFAULT_PAGE_SIZE;
    const groups: GroupView[] = [];
    const unreadable: UnreadableGroup[] = [];
    let cursor = query.cursor ?? null;
    for (let pages = 0; pages < MAX_INDEX_PAGES; pages += 1) {
      const page = await this.index.list(cursor, limit - groups.length);
      const asked = page.keys.filter((key) => !query.streamPrefix || key.streamPrefix === query.streamPrefix);
      for (const read of await Promise.all(asked.map((key) => this.read(key)))) {
        if (read === null) continue;
        if ('unreadable' in read) unreadable.push(read.unreadable);
        else if (!query.state || read.view.state === query.state) groups.push(read.view);
      }
      ({ cursor } = page);
      if (cursor === null || groups.length >= limit) break;
    }
    return { groups, nextCursor: cursor, unreadable };
  }

  /** null: the index named a group that is gone; the event loop removes it. */
  private async read(key: GroupKey): Promise<Read> {
    try {
      const { metadata } = await this.reader.read(key);
      return metadata === null ? null : { view: groupViewOf(metadata) };
    } catch (error) {
      if (error instanceof MetadataCorruptError || error instanceof MetadataSchemaUnsupportedError) {
        return { unreadable: { ...key, errorCode: error.code, message: error.message } };
      }
      throw error;
    }
  }
}
