/** How one option is written down and read: the environment gives text, the coordinator wants a value or a fault. */
export type OptionReading<Value> = { readonly value: Value } | { readonly fault: string };

export interface OptionSpec<Value> {
  /** Name of the environment variable; ends in its unit where it has one. */
  readonly variable: string;
  readonly meaning: string;
  /** As shown in the table: `ms`, `shards`, or `-`. */
  readonly unit: string;
  /** Bounds or choices, as shown in the table. */
  readonly bounds: string;
  /** As shown in the table: a literal, or a description of where it comes from. */
  readonly defaultText: string;
  readonly defaultValue: Value;
  readonly read: (text: string) => OptionReading<Value>;
}

interface Described {
  readonly variable: string;
  readonly meaning: string;
}

/** Decimal digits only: no sign, fraction, exponent, hexadecimal, blanks or leading zeros. */
const STRICT_INTEGER = /^(0|[1-9][0-9]{0,15})$/;

export function integerOption(
  spec: Described & {
    readonly unit: string;
    readonly min: number;
    readonly max: number;
    readonly default: number;
  },
): OptionSpec<number> {
  const bounds = `${spec.min} to ${spec.max}`;
  return {
    ...spec,
    bounds,
    defaultText: String(spec.default),
    defaultValue: spec.default,
    read: (text) => {
      if (!STRICT_INTEGER.test(text)) {
        return { fault: `must be a whole number in decimal digits (${bounds}), got ${quoted(text)}` };
      }
      const value = Number(text);
      const isInside = value >= spec.min && value <= spec.max;
      return isInside ? { value } : { fault: `must be ${bounds} (${spec.unit}), got ${text}` };
    },
  };
}

export function choiceOption<Choice extends string, Unset extends string = Choice>(
  spec: Described & {
    readonly choices: readonly Choice[];
    /** What it is when the variable is not set; need not be one of the choices. */
    readonly default: Choice | Unset;
    readonly defaultText?: string;
  },
): OptionSpec<Choice | Unset> {
  const bounds = spec.choices.join(', ');
  return {
    ...spec,
    unit: '-',
    bounds,
    defaultText: spec.defaultText ?? spec.default,
    defaultValue: spec.default,
    read: (text) => {
      const value = spec.choices.find((choice) => choice === text);
      return value === undefined ? { fault: `must be one of ${bounds}, got ${quoted(text)}` } : { value };
    },
  };
}

export function patternOption(
  spec: Described & {
    readonly pattern: RegExp;
    readonly bounds: string;
    readonly default: string;
    readonly defaultText?: string;
  },
): OptionSpec<string> {
  return {
    ...spec,
    unit: '-',
    defaultText: spec.defaultText ?? spec.default,
    defaultValue: spec.default,
    read: (text) =>
      spec.pattern.test(text) ? { value: text } : { fault: `must be ${spec.bounds}, got ${quoted(text)}` },
  };
}

/** A value that may hold a secret: the parser's own explanation is shown, the text never. */
export function secretOption<Value>(
  spec: Described & {
    readonly bounds: string;
    readonly default: string;
    readonly parse: (text: string) => OptionReading<Value>;
    readonly defaultValue: Value;
  },
): OptionSpec<Value> {
  return { ...spec, unit: '-', defaultText: spec.default, read: spec.parse };
}

const SHOWN_CHARACTERS = 40;

function quoted(text: string): string {
  return JSON.stringify(text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}...` : text);
}
