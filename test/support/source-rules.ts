import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/** One broken rule at one place, ready to be read by a person. */
export type RuleViolation = {
  readonly rule: string;
  readonly file: string;
  readonly line: number;
  readonly detail: string;
};

type Report = (node: ts.Node, detail: string) => void;

/** A rule over the syntax of one file: comments never break a rule, and no rule is escaped by spelling. */
type SourceRule = {
  readonly name: string;
  readonly appliesTo: (file: string) => boolean;
  readonly visit: (node: ts.Node, report: Report) => void;
};

const MAX_FILE_LINES = 300;
const FORBIDDEN_WORDS = new Set(['util', 'utils', 'helper', 'helpers', 'common', 'misc']);
const IOREDIS_PACKAGES = /^(ioredis|@liaoliaots\/nestjs-redis)(\/|$)/;
const HTTP_EXCEPTION =
  /^(Http|BadRequest|Unauthorized|NotFound|Forbidden|NotAcceptable|RequestTimeout|Conflict|Gone|HttpVersionNotSupported|PayloadTooLarge|UnsupportedMediaType|UnprocessableEntity|InternalServerError|NotImplemented|ImATeapot|MethodNotAllowed|BadGateway|ServiceUnavailable|GatewayTimeout|PreconditionFailed|Misdirected)Exception$/;
const LUA_TEXT = /\bredis\.p?call\b|\b(KEYS|ARGV)\[\s*\d/;
const IMPURE_NAMES = new Set([
  ...['Promise', 'Date', 'performance', 'crypto', 'process', 'globalThis', 'console', 'Buffer', 'fetch'],
  ...['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'require'],
]);

function isUnder(file: string, folders: readonly string[]): boolean {
  return folders.some((folder) => file.startsWith(`src/${folder}/`));
}

/** The package or path that a node imports, for every way to write an import. */
function importedSpecifier(node: ts.Node): string | undefined {
  const literal = importedLiteral(node);
  return literal !== undefined && ts.isStringLiteralLike(literal) ? literal.text : undefined;
}

function importedLiteral(node: ts.Node): ts.Node | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) {
    return node.moduleSpecifier;
  }
  if (ts.isExternalModuleReference(node)) {
    return node.expression;
  }
  if (ts.isImportTypeNode(node)) {
    return ts.isLiteralTypeNode(node.argument) ? node.argument.literal : undefined;
  }
  if (ts.isCallExpression(node) && isImportCall(node.expression)) {
    return node.arguments[0];
  }
  return undefined;
}

function isImportCall(callee: ts.Expression): boolean {
  return (
    callee.kind === ts.SyntaxKind.ImportKeyword || (ts.isIdentifier(callee) && callee.text === 'require')
  );
}

/** Whether an identifier names a binding, and not a member of something else (`lease.process`, `{ process: 1 }`). */
function isReference(node: ts.Identifier): boolean {
  const parent = node.parent;
  const isMemberName =
    (ts.isPropertyAccessExpression(parent) ||
      ts.isPropertyAssignment(parent) ||
      ts.isPropertySignature(parent)) &&
    parent.name === node;
  return !isMemberName;
}

function isMember(node: ts.Node, object: string, member: string): boolean {
  if (ts.isPropertyAccessExpression(node)) {
    return isNamed(node.expression, object) && node.name.text === member;
  }
  if (ts.isElementAccessExpression(node)) {
    const key = node.argumentExpression;
    return isNamed(node.expression, object) && ts.isStringLiteralLike(key) && key.text === member;
  }
  return false;
}

function isNamed(node: ts.Node, name: string): boolean {
  return (
    (ts.isIdentifier(node) && node.text === name) ||
    (ts.isPropertyAccessExpression(node) && node.name.text === name)
  );
}

function ioredisBehindPorts(holders: readonly string[]): SourceRule {
  return {
    name: 'ioredis-behind-ports',
    appliesTo: (file) => !isUnder(file, holders),
    visit: (node, report) => {
      const specifier = importedSpecifier(node);
      if (specifier !== undefined && IOREDIS_PACKAGES.test(specifier)) {
        report(node, `imports ${specifier}; only ${holders.join(', ')} may`);
      }
    },
  };
}

const environmentInConfig: SourceRule = {
  name: 'environment-in-config',
  appliesTo: (file) => !isUnder(file, ['config', 'client/config']),
  visit: (node, report) => {
    if (isMember(node, 'process', 'env') || /^(node:)?process$/.test(importedSpecifier(node) ?? '')) {
      report(node, 'reads the environment; only config may');
    }
  },
};

const noHttpExceptionInTheCore: SourceRule = {
  name: 'no-http-exception-in-the-core',
  appliesTo: (file) => !isUnder(file, ['http']) && !file.endsWith('.controller.ts'),
  visit: (node, report) => {
    if (ts.isIdentifier(node) && HTTP_EXCEPTION.test(node.text)) {
      report(node, `names ${node.text}; only controllers and http speak HTTP`);
    }
  },
};

const pureDomain: SourceRule = {
  name: 'pure-domain',
  appliesTo: (file) => isUnder(file, ['domain']),
  visit: (node, report) => {
    const specifier = importedSpecifier(node);
    if (specifier !== undefined && !specifier.startsWith('.')) {
      report(node, `imports ${specifier}`);
    }
    if (node.kind === ts.SyntaxKind.AsyncKeyword || ts.isAwaitExpression(node)) {
      report(node, 'is asynchronous');
    }
    if (isMember(node, 'Math', 'random')) {
      report(node, 'draws at random');
    }
    if (ts.isIdentifier(node) && IMPURE_NAMES.has(node.text) && isReference(node)) {
      report(node, `uses ${node.text}`);
    }
  },
};

const noLuaInTypeScript: SourceRule = {
  name: 'no-lua-in-typescript',
  appliesTo: () => true,
  visit: (node, report) => {
    const isText = ts.isStringLiteralLike(node) || ts.isTemplateLiteralToken(node);
    if (isText && LUA_TEXT.test(node.text)) {
      report(node, 'holds the text of a Lua script; it belongs into lua/');
    }
  },
};

/** Every violation of the syntax rules in the files of `root`/src. `ioredisHolders` are folders below src. */
export function sourceViolations(root: string, ioredisHolders: readonly string[]): RuleViolation[] {
  const rules = [
    ioredisBehindPorts(ioredisHolders),
    environmentInConfig,
    noHttpExceptionInTheCore,
    pureDomain,
    noLuaInTypeScript,
  ];
  const files = filesUnder(root, 'src').filter((file) => file.endsWith('.ts'));
  return files.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2023, true);
    return [...fileLength(file, text), ...rules.flatMap((rule) => violationsOf(rule, source))];
  });
}

function violationsOf(rule: SourceRule, source: ts.SourceFile): RuleViolation[] {
  if (!rule.appliesTo(source.fileName)) {
    return [];
  }
  const found: RuleViolation[] = [];
  const report: Report = (node, detail) => {
    const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
    found.push({ rule: rule.name, file: source.fileName, line, detail });
  };
  const walk = (node: ts.Node): void => {
    rule.visit(node, report);
    ts.forEachChild(node, walk);
  };
  walk(source);
  return found;
}

function fileLength(file: string, text: string): RuleViolation[] {
  const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
  const detail = `has ${lines} lines; at most ${MAX_FILE_LINES}`;
  return lines > MAX_FILE_LINES ? [{ rule: 'file-length', file, line: lines, detail }] : [];
}

/** Files and folders below the given ones whose name says nothing about what is in them. */
export function namingViolations(root: string, folders: readonly string[]): RuleViolation[] {
  const paths = new Set(folders.flatMap((folder) => filesUnder(root, folder)));
  return [...paths].flatMap((file) => {
    const words = file.toLowerCase().split(/[/.\-_]/);
    const forbidden = words.find((word) => FORBIDDEN_WORDS.has(word));
    return forbidden === undefined
      ? []
      : [{ rule: 'telling-names', file, line: 1, detail: `"${forbidden}" does not say what is in it` }];
  });
}

/** Paths of all files below `folder`, relative to `root`, with forward slashes. A missing folder has none. */
function filesUnder(root: string, folder: string): string[] {
  if (!statSync(join(root, folder), { throwIfNoEntry: false })?.isDirectory()) {
    return [];
  }
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? filesUnder(root, path) : [path];
  });
}
