import { OPTIONS } from './options';

/** The configuration table of the README, in Markdown. A test compares it with what is printed there. */
export function renderConfigurationTable(): string {
  const rows = Object.values(OPTIONS).map((spec) =>
    row(`\`${spec.variable}\``, spec.meaning, spec.unit, spec.defaultText, spec.bounds),
  );
  return [
    row('variable', 'meaning', 'unit', 'default', 'bounds'),
    row('---', '---', '---', '---', '---'),
    ...rows,
  ]
    .join('\n')
    .concat('\n');
}

function row(...cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}
