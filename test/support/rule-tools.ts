import { execFile } from 'node:child_process';
import { join } from 'node:path';

/** The rule that was broken, where, and for an import what it reached. */
export type ToolFinding = { readonly rule: string; readonly file: string; readonly detail: string };

const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

type CruiseResult = {
  readonly summary: {
    readonly totalCruised: number;
    readonly violations: readonly {
      readonly from: string;
      readonly to: string;
      readonly rule: { readonly name: string };
    }[];
  };
};

type LintResult = {
  readonly filePath: string;
  readonly messages: readonly { readonly ruleId: string | null; readonly message: string }[];
};

/** Runs dependency-cruiser over `root`/src with the rules that lie in `root`. */
export async function cruise(root: string): Promise<{ moduleCount: number; findings: ToolFinding[] }> {
  const bin = join(root, 'node_modules', 'dependency-cruiser', 'bin', 'dependency-cruise.mjs');
  const output = await runNode(root, [
    bin,
    '--config',
    '.dependency-cruiser.cjs',
    '--output-type',
    'json',
    'src',
  ]);
  const { summary } = JSON.parse(output) as CruiseResult;
  const findings = summary.violations.map(({ rule, from, to }) => ({
    rule: rule.name,
    file: from,
    detail: to,
  }));
  return { moduleCount: summary.totalCruised, findings };
}

/** Runs ESLint over `root` with the rules that lie in `root`. A file that cannot be parsed is a finding as well. */
export async function lint(root: string): Promise<ToolFinding[]> {
  const bin = join(root, 'node_modules', 'eslint', 'bin', 'eslint.js');
  const output = await runNode(root, [bin, '--format', 'json', '.']);
  const results = JSON.parse(output) as LintResult[];
  return results.flatMap(({ filePath, messages }) =>
    messages.map(({ ruleId, message }) => ({
      rule: ruleId ?? 'parse-error',
      file: filePath.slice(root.length + 1),
      detail: message,
    })),
  );
}

/** Both tools say by their exit code that they found something; only a run without output is a failure. */
function runNode(root: string, nodeArguments: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      nodeArguments,
      { cwd: root, maxBuffer: MAX_OUTPUT_BYTES },
      (error, stdout, stderr) => {
        if (stdout.trim() === '') {
          reject(new Error(`${nodeArguments.join(' ')} said nothing: ${stderr}`, { cause: error }));
          return;
        }
        resolve(stdout);
      },
    );
  });
}
