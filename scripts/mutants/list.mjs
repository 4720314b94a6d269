/**
 * Faults that the protocol is built against, each as a patch of src/. `patches`: in that file this text, which must be there
 * exactly once, becomes that one. A detector must fail with it: a world of the exploration, seeds of the simulation, or a test.
 */
const explored = (...worlds) => ({ kind: 'exploration', worlds });
const simulated = (from, to) => ({ kind: 'simulation', from, to });
/** What too few schedules show, or none because nothing goes wrong before the next write decides: a test of that rule. */
const tested = (project, file, title) => ({ kind: 'test', project, file, title });
const patch = (file, find, replace) => ({ file, find, replace });

const ON_HEARTBEAT = 'src/domain/coordinator/on-heartbeat.ts';
const REPORT = 'src/domain/membership/ownership-report.ts';
const IS_REVOKED = "if (report !== undefined) return report.state === 'REVOKED' && report.inFlight === 0;";
const IS_CURRENT = '(drain) => request.metadataVersion >= drain.recordedVersion';

export const MUTANTS = [
  {
    name: 'release-on-any-ack',
    isQuick: true,
    patches: [patch(REPORT, IS_REVOKED, 'if (report !== undefined) return true;')],
    detector: explored('2x2'),
  },
  {
    name: 'grant-without-looking-at-other-holders',
    isQuick: true,
    patches: [
      patch(
        'src/domain/assignment/current-assignment.ts',
        '} else if (occupancy.drain === null) {',
        "} else if (target !== null) {\n        draft.occupy(index, { kind: 'FREE' });\n        draft.grant(index, target);\n      } else if (occupancy.drain === null) {",
      ),
    ],
    detector: explored('2x2'),
  },
  {
    name: 'no-quiet-period',
    patches: [
      patch(
        'src/critical-section/loop-view.ts',
        'return isQuiet ? GRANT_ONLY : BOTH;',
        'return isQuiet ? BOTH : BOTH;',
      ),
    ],
    detector: simulated(1, 400),
  },
  {
    name: 'no-quiet-period-in-a-round',
    patches: [
      patch(
        'src/domain/coordinator/transition.ts',
        'return this.context.mayEndTenures && (',
        'return this.context.mayEndTenures || (',
      ),
    ],
    detector: explored('2x1-rollback'),
  },
  {
    name: 'no-duplicate-rule',
    patches: [patch(ON_HEARTBEAT, IS_CURRENT, '() => true')],
    detector: explored('2x2-duplicate'),
  },
  {
    name: 'lease-counted-from-the-answer',
    patches: [
      patch(
        'src/client/consumer/member-session.ts',
        'const renewed = this.times.leaseFrom(sent.sentAtMs);',
        'const renewed = this.times.leaseFrom(nowMs);',
      ),
    ],
    detector: simulated(1, 400),
  },
  {
    name: 'grant-told-before-commit',
    patches: [
      patch(
        'src/critical-section/section-runner.ts',
        'const outcome = await store.commitAndUnlock(key, commit);',
        'this.settle(turn.items, intent.decided, committed);\n    const outcome = await store.commitAndUnlock(key, commit);',
      ),
    ],
    detector: simulated(1, 400),
  },
  {
    name: 'epoch-check-skipped',
    isQuick: true,
    patches: [
      patch(
        ON_HEARTBEAT,
        'member === undefined || member.memberEpoch !== request.memberEpoch || !isLive(member)',
        'member === undefined || !isLive(member)',
      ),
      patch(
        'src/domain/coordinator/heartbeat-reply.ts',
        'if (member.memberEpoch !== memberEpoch || !isLive(member))',
        'if (!isLive(member))',
      ),
    ],
    detector: explored('twins-2x1'),
  },
  {
    name: 'expiry-by-the-local-clock',
    patches: [
      patch(
        'src/critical-section/decision-contexts.ts',
        'const nowMs = metadata === null ? redisNowMs : later(redisNowMs, metadata.updatedAtMs);',
        'const localMs = this.clockGuard.clock.monotonicMs();\n    this.offsetMs ??= redisNowMs - localMs;\n    const nowMs = this.offsetMs + localMs;',
      ),
    ],
    detector: simulated(1, 400),
  },
  {
    name: 'fast-path-revives-an-expired-lease',
    patches: [
      patch(
        'src/store/memory/memory-metadata-store.ts',
        'if (deadlineMs === null || deadlineMs <= nowMs) continue;',
        'if (deadlineMs === null) continue;',
      ),
    ],
    detector: tested('contract', 'memory-store.spec', 'revives no lease that ran out'),
  },
  {
    name: 'conflict-of-draining-shards-ignored',
    patches: [
      patch(
        'src/domain/correction/round-report.ts',
        "if (state !== 'REVOKED' || inFlight > 0) claimed.push(index);",
        "if (state === 'DRAINING' && inFlight < 0) claimed.push(index);",
      ),
    ],
    detector: explored('2x2-rollback'),
  },
  {
    name: 'round-ends-before-all-have-told',
    patches: [
      patch(
        'src/domain/correction/end-round.ts',
        'if (membersToTell(draft.currentMembers(), round).length > 0 || hasOpenShard(transition, round)) return;',
        'if (hasOpenShard(transition, round)) return;',
      ),
    ],
    detector: explored('2x1-rollback-base'),
  },
  {
    name: 'round-ends-within-a-lease',
    patches: [
      patch(
        'src/domain/correction/end-round.ts',
        'if (round === null || !transition.mayEndTenures) return;\n  if (!isOver(earliestEndMs(round, context.timing), context.nowMs)) return;',
        'if (round === null) return;',
      ),
    ],
    detector: explored('2x1-rollback'),
  },
  {
    name: 'another-redis-is-no-evidence',
    patches: [
      patch(
        'src/domain/correction/evidence.ts',
        'if (context.redisId !== draft.base.redisId)',
        'if (context.redisId === null)',
      ),
    ],
    detector: explored('2x1-rollback'),
  },
  {
    name: 'reports-from-before-a-round-count-as-told',
    patches: [
      patch(
        'src/domain/correction/round-report.ts',
        'if (!isFinal && request.metadataVersion < round.roundVersion) return;',
        '',
      ),
    ],
    detector: explored('2x1-rollback-duplicate'),
  },
  {
    name: 'drain-not-recorded-anew-by-a-round',
    patches: [
      patch(
        'src/domain/correction/start-round.ts',
        'drain: { ...drain, recordedVersion: draft.version } });',
        'drain });',
      ),
    ],
    detector: tested(
      'unit',
      'correction/round.spec',
      'takes no REVOKED of the lost timeline for one of a drain that Redis still records',
    ),
  },
  {
    name: 'block-ends-at-once',
    isQuick: true,
    patches: [
      patch(
        'src/domain/membership/tenure.ts',
        "vacate(transition, member, { kind: 'BLOCKED', memberId, memberEpoch, untilMs });",
        'vacate(transition, member, FREE);',
      ),
    ],
    detector: explored('twins-2x1'),
  },
  {
    name: 'repeated-join-renews-nothing',
    patches: [
      patch(
        'src/domain/membership/join.ts',
        "transition.renewLease(known.memberId);\n    return { kind: 'REPEATED'",
        "return { kind: 'REPEATED'",
      ),
    ],
    detector: explored('2x1-loss'),
  },
  {
    name: 'join-without-instance-is-a-repeat',
    patches: [patch('src/domain/membership/join.ts', 'instanceId !== null &&', '')],
    detector: explored('twins-2x1-base'),
  },
  {
    name: 'late-leave-accepted',
    patches: [
      patch(
        'src/domain/membership/leave.ts',
        'if (request.instanceId !== null) return request.instanceId === member.instanceId;',
        'if (request.instanceId !== null) return true;',
      ),
    ],
    detector: explored('twins-and-one-leave'),
  },
  {
    name: 'leave-frees-what-still-drains',
    patches: [
      patch(
        'src/domain/membership/leave.ts',
        'releaseReported(transition, leaving, request, () => true);',
        'for (const index of heldBy(transition, leaving.memberId)) transition.draft.occupy(index, { kind: "FREE" });',
      ),
    ],
    detector: explored('2x1-leave'),
  },
  {
    name: 'commit-does-not-compare-leases',
    patches: [
      patch(
        'src/critical-section/section-runner.ts',
        'expectedLeases: expectedLeases(loaded, decided.endedTenures),',
        'expectedLeases: new Map(),',
      ),
    ],
    detector: tested(
      'flow',
      'critical-section/sections.spec',
      'is compared by the commit: a renewal in between keeps the member',
    ),
  },
];
