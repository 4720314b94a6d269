import type { Result } from '../domain/result';
import { readOptions, type ReadOptions } from './read-options';

/** The only place that looks at the environment of the process. */
export function readOptionsFromEnvironment(): Result<ReadOptions, readonly string[]> {
  return readOptions(process.env);
}
