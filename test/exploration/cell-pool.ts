import { bitOfEpoch, bitOfInstance, deadEpoch, epochRank, instanceRank, versionRank } from './labels';

/** What is done to the numbers of a cell. */
export interface CellMapping {
  /** A version that is compared with recorded ones. */
  readonly version: (label: number) => number;
  /** A version that is recorded. */
  readonly recorded: (label: number) => number;
  readonly epoch: (label: number) => number;
  /** An epoch that only names the tenure before. */
  readonly previous: (label: number) => number;
  readonly instance: (label: number) => number;
}

export interface CellKind<Value> {
  readonly key: (value: Value) => string;
  readonly map: (value: Value, mapping: CellMapping) => Value;
}

const keep = (label: number): number => label;
const SAME: CellMapping = { version: keep, recorded: keep, epoch: keep, previous: keep, instance: keep };

type Memo = (Map<number, number> | undefined)[];

/** The parts of one kind of which states are made, each kept once and named by its position. What is done to one is done once. */
export class CellPool<Value> {
  readonly values: Value[] = [];
  /** Labels in use, as bit masks, by cell. */
  readonly versions: number[] = [];
  readonly epochs: number[] = [];
  readonly instances: number[] = [];
  /** The single ones that a client or message has. */
  readonly version: number[] = [];
  readonly epoch: number[] = [];
  readonly previous: number[] = [];
  private readonly positions = new Map<string, number>();
  private readonly withVersions: Memo = [];
  private readonly withEpochs: Memo = [];
  private readonly withInstances: Memo = [];
  private readonly settled: Memo = [];

  constructor(
    private readonly kind: CellKind<Value>,
    /** Called once for each new cell. */
    private readonly inspect: (value: Value) => void = () => undefined,
  ) {}

  intern(value: Value): number {
    const key = this.kind.key(value);
    const known = this.positions.get(key);
    if (known !== undefined) return known;
    const position = this.values.length;
    this.positions.set(key, position);
    this.values.push(value);
    this.recordNumbers(value);
    this.inspect(value);
    return position;
  }

  at(position: number): Value {
    return this.values[position] as Value;
  }

  /** The cell with its versions as their ranks among `used`. */
  rankVersions(position: number, used: number): number {
    const highest = 31 - Math.clz32(this.versions[position] as number);
    const below = used & ((1 << highest) - 1);
    if (below === (1 << highest) - 1) return position;
    return memoised(this.withVersions, position, below, () => {
      const version = (label: number): number => versionRank(label, used);
      return this.mapped(position, { ...SAME, version, recorded: version });
    });
  }

  rankEpochs(position: number, used: number): number {
    if (this.epochs[position] === 0) return position;
    return memoised(this.withEpochs, position, used, () => {
      const epoch = (label: number): number => epochRank(label, used);
      return this.mapped(position, { ...SAME, epoch, previous: epoch });
    });
  }

  rankInstances(position: number, used: number): number {
    if (this.instances[position] === 0) return position;
    return memoised(this.withInstances, position, used, () =>
      this.mapped(position, { ...SAME, instance: (label) => instanceRank(label, used) }),
    );
  }

  /** The cell with another version, and with dead epochs for those that are not among `recorded`. */
  settle(position: number, version: number, recorded: number): number {
    const epoch = this.epoch[position] as number;
    const previous = this.previous[position] as number;
    const isEpochKept = epoch === deadEpoch(epoch) || (recorded & bitOfEpoch(epoch)) !== 0;
    const isPreviousKept = previous === 0 || (recorded & bitOfEpoch(previous)) !== 0;
    if (this.version[position] === version && isEpochKept && isPreviousKept) return position;
    const key = version * 4 + (isEpochKept ? 2 : 0) + (isPreviousKept ? 1 : 0);
    return memoised(this.settled, position, key, () =>
      this.mapped(position, {
        ...SAME,
        version: () => version,
        epoch: isEpochKept ? keep : deadEpoch,
        previous: isPreviousKept ? keep : () => 0,
      }),
    );
  }

  private mapped(position: number, mapping: CellMapping): number {
    return this.intern(this.kind.map(this.at(position), mapping));
  }

  private recordNumbers(value: Value): void {
    const used = { versions: 1, epochs: 0, instances: 0, version: 0, epoch: 0, previous: 0 };
    this.kind.map(value, {
      version: (label) => {
        used.versions |= 1 << label;
        return (used.version = label);
      },
      recorded: (label) => {
        used.versions |= 1 << label;
        return label;
      },
      epoch: (label) => {
        used.epochs |= bitOfEpoch(label);
        return (used.epoch = label);
      },
      previous: (label) => {
        used.epochs |= bitOfEpoch(label);
        return (used.previous = label);
      },
      instance: (label) => {
        used.instances |= bitOfInstance(label);
        return label;
      },
    });
    this.versions.push(used.versions);
    this.epochs.push(used.epochs);
    this.instances.push(used.instances);
    this.version.push(used.version);
    this.epoch.push(used.epoch);
    this.previous.push(used.previous);
  }
}

function memoised(memo: Memo, position: number, key: number, compute: () => number): number {
  let ofCell = memo[position];
  if (ofCell === undefined) memo[position] = ofCell = new Map();
  const known = ofCell.get(key);
  if (known !== undefined) return known;
  const result = compute();
  ofCell.set(key, result);
  return result;
}
