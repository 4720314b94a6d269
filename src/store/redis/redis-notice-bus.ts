import { parseGroupKeyText, type GroupKey } from '../../domain/ids';
import type { NoticeSubscriber } from '../../redis/notice-subscriber';
import type { NoticeBus } from '../notice-bus';
import type { CoordinatorKeys } from './coordinator-keys';

export class RedisNoticeBus implements NoticeBus {
  constructor(
    private readonly subscriber: NoticeSubscriber,
    private readonly keys: CoordinatorKeys,
  ) {}

  onNotice(listener: (key: GroupKey) => void): () => void {
    return this.subscriber.onMessage(this.keys.noticeChannel, (message) => {
      const key = parseGroupKeyText(message);
      if (key !== null) listener(key);
    });
  }
}
