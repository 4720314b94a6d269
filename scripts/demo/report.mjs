// What the demo says at its end.

/** Lines for people; the last says whether the promises held. */
export function reportLines(verdict, { rebalances, killed }) {
  const { published, handled, handledTwice, outOfOrder, lost, overlaps, unread, broken } = verdict;
  const share = Math.round(killed.share * 100);
  return [
    '',
    'What the logs of the consumer processes and the input file prove:',
    row('entries published', published),
    row('entries handled', handled),
    row(
      'handled twice',
      `${handledTwice}  (at least once: what was handled and not yet acknowledged came again)`,
    ),
    row('order violations per key', outOfOrder.length),
    row('lost', lost.length),
    row('shards read by two at once', overlaps.length),
    row('rebalances', rebalances),
    row('killed', `${killed.name} at ${share} % with ${killed.unacked} entries unacknowledged`),
    '',
    'How long each shard had no reader:',
    ...unread.map(({ shard, readers, totalMs, longestMs }) => {
      const times = `${seconds(totalMs)} in all, ${seconds(longestMs)} at once`;
      return `  shard ${String(shard).padStart(2)}   ${times}   (${readers} readers, one after the other)`;
    }),
    '',
    ...broken.map((fault) => `BROKEN: ${fault}`),
    broken.length === 0 ? 'Every promise held.' : `${broken.length} promise(s) broken.`,
  ];
}

function row(name, value) {
  return `  ${name.padEnd(28)}${value}`;
}

function seconds(lengthMs) {
  return `${(lengthMs / 1_000).toFixed(2)} s`;
}
