// Two ways to break the promise of the consumer, from outside of the SDK: its commands to Redis are tampered with. The verdict
// has to notice both, or it proves nothing.
import { Redis } from 'ioredis';

export const SABOTAGES = ['early-ack', 'skip-pending'];

/** A client of ioredis for the SDK, whose duplicates do what the sabotage says. */
export function sabotagedRedis(url, sabotage) {
  const tamper = { 'early-ack': ackWhatIsRead, 'skip-pending': hidePending }[sabotage];
  if (tamper === undefined)
    throw new Error(`unknown sabotage ${sabotage}; there are ${SABOTAGES.join(', ')}`);
  const client = new Redis(url, { lazyConnect: true });
  const duplicate = client.duplicate.bind(client);
  client.duplicate = (options) => {
    const copy = duplicate(options);
    const send = copy.sendCommand.bind(copy);
    copy.sendCommand = (command, stream) => {
      tamper(copy, command);
      return send(command, stream);
    };
    return copy;
  };
  return client;
}

/** early-ack: entries are acknowledged when they have been read, before any handler has seen them. */
function ackWhatIsRead(client, command) {
  if (command.name.toLowerCase() !== 'xreadgroup') return;
  const group = String(command.args[1]);
  command.promise.then(
    (reply) => {
      for (const [streamKey, entries] of reply ?? []) {
        const ids = entries.map(([id]) => id);
        if (ids.length > 0) client.xack(streamKey, group, ...ids).catch(() => undefined);
      }
    },
    () => undefined,
  );
}

/** skip-pending: what former owners of a shard left unacknowledged is not seen, so it is not taken over. */
function hidePending(_client, command) {
  if (command.name.toLowerCase() !== 'xpending') return;
  const isSummary = command.args.length === 2;
  const resolve = command.resolve;
  command.resolve = () => resolve.call(command, isSummary ? [0, null, null, null] : []);
}
