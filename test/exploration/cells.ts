import type { GroupState } from '../../src/domain/coordinator/decision';
import type { MemberId } from '../../src/domain/ids';
import { CellPool } from './cell-pool';
import { age, applyAnswer, beginLeave, keyOfClient, nextRequest, shardsInUse, stopShard } from './client';
import type { Client, ClientRules } from './client';
import { Coordinator, isAtRest } from './coordinator';
import type { Grant, Outcome } from './coordinator';
import { ageGroup, keyOfGroup, mapGroup, normalGroup } from './group';
import type { GroupFacts } from './group';
import { keyOfMessage } from './messages';
import type { Answer, Message, Request } from './messages';
import { STEP } from './model-time';
import type { WorldOptions } from './world-options';

/** What a request, or a look of the event loop, makes of a group. Cells by position. */
export interface Effect {
  readonly group: number;
  /** -1: nobody is answered. */
  readonly answer: number;
  readonly grants: readonly Grant[];
  readonly fault: string | null;
}

const MANY_STEPS = 1_000_000;

/**
 * The parts of which the states of a world are made (groups, clients, messages), and everything that can happen to one of them.
 * A state of the world is a combination of parts; the same parts meet in very many states, so what happens to them is computed
 * once and looked up from then on.
 */
export class Cells {
  readonly groups: CellPool<GroupState>;
  readonly clients: CellPool<Client>;
  readonly messages: CellPool<Message>;
  /** By client cell: shards in use, as a bit mask. */
  readonly inUse: number[] = [];
  /** By group cell. */
  readonly atRest: boolean[] = [];
  private readonly facts: GroupFacts;
  private readonly coordinator: Coordinator;
  private readonly rules: ClientRules;
  private readonly memberIds: readonly MemberId[];
  private readonly effects = new Map<number, Effect>();
  private readonly ticks = new Map<number, Effect>();
  private readonly agedGroups: number[] = [];
  private readonly agedClients: number[] = [];
  private readonly answered = new Map<number, number>();
  private readonly sends: { readonly client: number; readonly request: number }[] = [];
  private readonly stopped = new Map<number, number>();
  private readonly leaving = new Map<number, number>();

  constructor(options: WorldOptions) {
    const { leaseSteps, drainSteps, shardCount, budget, baseClients } = options;
    this.rules = { leaseTtlMs: leaseSteps * STEP, mayLeave: budget.leaves > 0 };
    this.facts = {
      positionOf: (memberId) => this.positionOf(memberId),
      isJoinedVersionUsed: baseClients.length > 0 && budget.leaves > 0,
      roundPastMs: (2 * leaseSteps + drainSteps) * STEP,
    };
    this.memberIds = [...new Set(options.members)].map((name) => name as MemberId);
    this.coordinator = new Coordinator(
      {
        heartbeatIntervalMs: STEP,
        memberLeaseTtlMs: this.rules.leaseTtlMs,
        rebalanceTimeoutMs: drainSteps * STEP,
        tickIntervalMs: STEP,
        routingRefreshMs: STEP,
        routingLeaseMs: STEP,
        lockTtlMs: STEP,
        memberRetentionMs: MANY_STEPS * STEP,
      },
      shardCount,
    );
    const { facts } = this;
    this.groups = new CellPool<GroupState>(
      {
        key: keyOfGroup,
        map: (group, { recorded, epoch, instance }) =>
          mapGroup(group, { version: recorded, epoch, instance, instant: (atMs) => atMs }, facts),
      },
      (group) => this.atRest.push(isAtRest(group)),
    );
    this.clients = new CellPool<Client>(
      {
        key: keyOfClient,
        map: (client, { version, epoch, previous, instance }) => ({
          ...client,
          version: version(client.version),
          epoch: epoch(client.epoch),
          previousEpoch: previous(client.previousEpoch),
          instance: instance(client.instance),
        }),
      },
      (client) => this.inUse.push(shardsInUse(client)),
    );
    this.messages = new CellPool<Message>({
      key: keyOfMessage,
      map: (message, { version, epoch, previous, instance }) =>
        message.kind === 'ANSWER'
          ? { ...message, version: version(message.version), epoch: epoch(message.epoch) }
          : {
              ...message,
              version: version(message.version),
              epoch: epoch(message.epoch),
              previousEpoch: previous(message.previousEpoch),
              instance: instance(message.instance),
            },
    });
  }

  firstGroup(): number {
    return this.groups.intern(normalGroup(this.coordinator.create(), this.facts));
  }

  positionOf(memberId: MemberId): number {
    return this.memberIds.indexOf(memberId);
  }

  memberIdAt(position: number): MemberId {
    return this.memberIds[position] as MemberId;
  }

  deliver(group: number, request: number, redis: number): Effect {
    const key = (group * 0x100000 + request) * 4 + redis;
    const known = this.effects.get(key);
    if (known !== undefined) return known;
    const message = this.messages.at(request) as Request;
    const effect = this.record(
      () =>
        this.coordinator.heartbeat(
          this.groups.at(group),
          message,
          this.memberIdAt(message.member),
          `redis-${redis}`,
        ),
      (answer) => this.messages.intern(answer),
      group,
    );
    this.effects.set(key, effect);
    return effect;
  }

  tick(group: number, redis: number): Effect {
    const key = group * 4 + redis;
    const known = this.ticks.get(key);
    if (known !== undefined) return known;
    const effect = this.record(
      () => this.coordinator.tick(this.groups.at(group), `redis-${redis}`),
      () => -1,
      group,
    );
    this.ticks.set(key, effect);
    return effect;
  }

  private record<Reply>(run: () => Outcome<Reply>, keep: (reply: Reply) => number, group: number): Effect {
    try {
      const { state, reply, grants, fault } = run();
      return {
        group: this.groups.intern(normalGroup(state, this.facts)),
        answer: keep(reply),
        grants,
        fault,
      };
    } catch (error) {
      return { group, answer: -1, grants: [], fault: String(error) };
    }
  }

  ageGroup(group: number): number {
    return (this.agedGroups[group] ??= this.groups.intern(ageGroup(this.groups.at(group), this.facts, STEP)));
  }

  ageClient(client: number): number {
    return (this.agedClients[client] ??= this.clients.intern(age(this.clients.at(client), STEP)));
  }

  answer(client: number, answer: number, ageSteps: number): number {
    return remember(this.answered, (client * 0x100000 + answer) * 8 + ageSteps, () => {
      const message = this.messages.at(answer) as Answer;
      return this.clients.intern(applyAnswer(this.clients.at(client), message, ageSteps * STEP, this.rules));
    });
  }

  send(client: number, isBare: boolean): { readonly client: number; readonly request: number } {
    const key = client * 2 + (isBare ? 1 : 0);
    const known = this.sends[key];
    if (known !== undefined) return known;
    const sent = nextRequest(this.clients.at(client), isBare);
    const cells = { client: this.clients.intern(sent.client), request: this.messages.intern(sent.request) };
    this.sends[key] = cells;
    return cells;
  }

  stop(client: number, shard: number): number {
    return remember(this.stopped, client * 32 + shard, () =>
      this.clients.intern(stopShard(this.clients.at(client), shard)),
    );
  }

  leave(client: number, joinAgeSteps: number): number {
    return remember(this.leaving, client * 8 + joinAgeSteps, () =>
      this.clients.intern(beginLeave(this.clients.at(client), this.rules, joinAgeSteps * STEP)),
    );
  }
}

function remember(memo: Map<number, number>, key: number, compute: () => number): number {
  const known = memo.get(key);
  if (known !== undefined) return known;
  const result = compute();
  memo.set(key, result);
  return result;
}
