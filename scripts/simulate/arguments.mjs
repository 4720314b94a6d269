export const USAGE = `usage: npm run simulate -- --seeds FROM..TO | --seed N [--trace] [--without KIND,KIND] [--workers N]`;

/** What the command line says; null when it cannot be read. */
export function readArguments(given) {
  const options = { from: null, to: null, isTraced: false, without: [], workers: null };
  const rest = given.values();
  for (const name of rest) {
    if (name === '--trace') options.isTraced = true;
    else if (!readValue(options, name, rest.next().value)) return null;
  }
  const isComplete = options.from !== null && options.to >= options.from;
  return isComplete && (!options.isTraced || options.from === options.to) ? options : null;
}

function readValue(options, name, value) {
  const seeds = /^(\d+)(?:\.\.(\d+))?$/.exec(value ?? '');
  switch (name) {
    case '--seeds':
    case '--seed':
      if (seeds === null) return false;
      options.from = Number(seeds[1]);
      options.to = Number(seeds[2] ?? seeds[1]);
      return true;
    case '--without':
      options.without = (value ?? '').split(',').filter((kind) => kind !== '');
      return value !== undefined;
    case '--workers':
      options.workers = Number(value);
      return Number.isInteger(options.workers) && options.workers > 0;
    default:
      return false;
  }
}
