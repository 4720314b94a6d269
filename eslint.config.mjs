import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

const MAX_FILE_LINES = 300;
const MAX_FUNCTION_LINES = 70;

const noDefaultExport = {
  selector: 'ExportDefaultDeclaration',
  message: 'Export by name: one name for one thing, everywhere.',
};

// Both compile, both hide tests: a skipped test is a defect, a focused one hides all others.
const noSkippedOrFocusedTest = {
  selector: 'MemberExpression[object.name=/^(describe|it|test)$/][property.name=/^(skip|only|todo)$/]',
  message: 'No skipped, focused or planned tests: write it, or leave it out.',
};

// `import type` on a DTO compiles, emits Object as its metadata, and Nest then validates nothing.
const noTypeOnlyDto = {
  selector: "ImportDeclaration[importKind='type'][source.value=/dto$/]",
  message: 'Import a DTO as a value: with `import type` its body is silently not validated.',
};

export default defineConfig(
  { ignores: ['dist/', 'coverage/', 'node_modules/', 'test/vectors/', 'bench/results/'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      'no-restricted-syntax': ['error', noDefaultExport],
      eqeqeq: 'error',
      'no-console': 'error',
      'max-lines': ['warn', MAX_FILE_LINES],
      'max-lines-per-function': [
        'error',
        { max: MAX_FUNCTION_LINES, skipBlankLines: true, skipComments: true },
      ],

      // Quiet in files with decorators as long as emitDecoratorMetadata is on: a class that Nest injects stays a value.
      '@typescript-eslint/consistent-type-imports': ['error', { disallowTypeAnnotations: false }],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true, requireDefaultForNonUnion: true },
      ],
      '@typescript-eslint/no-floating-promises': ['error', { ignoreVoid: false }],
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unnecessary-condition': [
        'error',
        { allowConstantLoopConditions: 'only-allowed-literals' },
      ],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // An adapter of an asynchronous port may have nothing to wait for (the in-memory store).
      '@typescript-eslint/require-await': 'off',
    },
  },
  {
    files: ['src/**/*.controller.ts'],
    rules: { 'no-restricted-syntax': ['error', noDefaultExport, noTypeOnlyDto] },
  },
  {
    files: ['src/cli/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts', 'scripts/**/*.ts'],
    rules: { 'no-console': 'off' },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      'no-restricted-syntax': ['error', noDefaultExport, noSkippedOrFocusedTest],
      'max-lines': ['warn', 500],
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  {
    // A describe block holds a whole subject; the tests inside it are what is short.
    files: ['test/**/*.spec.ts'],
    rules: { 'max-lines-per-function': 'off' },
  },
  {
    files: ['**/*.{js,cjs,mjs}'],
    languageOptions: {
      globals: Object.fromEntries(
        [
          ...[
            'process',
            'console',
            'Buffer',
            'URL',
            'URLSearchParams',
            'fetch',
            'AbortController',
            'AbortSignal',
          ],
          ...['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'performance'],
          ...['structuredClone', 'queueMicrotask', 'TextEncoder', 'TextDecoder', 'Response', 'globalThis'],
        ].map((name) => [name, 'readonly']),
      ),
    },
    rules: {
      'no-restricted-syntax': ['error', noDefaultExport],
      'max-lines': ['warn', MAX_FILE_LINES],
      'max-lines-per-function': [
        'error',
        { max: MAX_FUNCTION_LINES, skipBlankLines: true, skipComments: true },
      ],
    },
  },
  {
    files: ['**/*.cjs', '*.js', 'test/**/*.js'],
    languageOptions: {
      sourceType: 'commonjs',
      globals: {
        module: 'writable',
        require: 'readonly',
        __dirname: 'readonly',
        exports: 'writable',
        jest: 'readonly',
      },
    },
  },
  {
    // The one file whose tool asks for a default export.
    files: ['eslint.config.mjs'],
    rules: { 'no-restricted-syntax': 'off' },
  },
);
