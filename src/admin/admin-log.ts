import { Injectable, Logger } from '@nestjs/common';
import type { GroupKey } from '../domain/ids';

export interface Identified {
  readonly id: string;
}

/** Who asked for what, and why. What became of it is in the access line with the same request id. */
@Injectable()
export class AdminLog {
  private readonly logger = new Logger('Admin');

  asked(
    action: string,
    key: GroupKey | null,
    { requestedBy, reason = null }: { readonly requestedBy: string; readonly reason?: string | null },
    request: Identified,
    memberId?: string,
  ): void {
    const target = { ...(key ?? {}), ...(memberId === undefined ? {} : { memberId }) };
    this.logger.log({ message: 'asked', action, ...target, requestedBy, reason, requestId: request.id });
  }
}
