import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isVersion } from './version-store';
import type { VersionStore } from './version-store';

interface KeptVersion {
  readonly key: string;
  readonly metadataVersion: number;
}

/**
 * Keeps versions in a directory, one small file per group, which is replaced as a whole: whoever reads it finds the old or the
 * new version, never half of one. Several processes may share the directory: each looks at the file right before it replaces
 * it, and leaves a larger version alone. Two that replace it in the same instant can still leave the smaller of their two
 * versions; the next save puts that right. The directory is made when it is missing. Its volume should outlive the process.
 */
export function fileVersionStore(directory: string): VersionStore {
  return new FileVersionStore(directory);
}

class FileVersionStore implements VersionStore {
  /** Saves of one key follow one another. */
  private readonly last = new Map<string, Promise<void>>();

  constructor(private readonly directory: string) {}

  /** Rejects when the file cannot be read, or holds anything but a version of this key. */
  async load(key: string): Promise<number | null> {
    const text = await this.textOf(key);
    return text === null ? null : versionIn(text, key);
  }

  /** Rejects when the file cannot be written. One that holds nothing usable is replaced. */
  async save(key: string, version: number): Promise<void> {
    if (!isVersion(version)) throw new Error(`${version} is no version`);
    const earlier = this.last.get(key) ?? Promise.resolve();
    const turn = earlier.then(async () => this.replace(key, version));
    const settled = turn.catch(() => undefined);
    this.last.set(key, settled);
    try {
      await turn;
    } finally {
      if (this.last.get(key) === settled) this.last.delete(key);
    }
  }

  private async replace(key: string, version: number): Promise<void> {
    if (await this.hasAtLeast(key, version)) return;
    await mkdir(this.directory, { recursive: true });
    const path = this.pathOf(key);
    const temporaryPath = `${path}.${randomUUID()}.tmp`;
    const content: KeptVersion = { key, metadataVersion: version };
    try {
      await writeDurably(temporaryPath, `${JSON.stringify(content)}\n`);
      // Another process may have been faster while this one wrote.
      if (!(await this.hasAtLeast(key, version))) await rename(temporaryPath, path);
    } finally {
      await rm(temporaryPath, { force: true });
    }
  }

  private async hasAtLeast(key: string, version: number): Promise<boolean> {
    const text = await this.textOf(key);
    if (text === null) return false;
    try {
      return versionIn(text, key) >= version;
    } catch {
      return false; // nothing usable: it is replaced
    }
  }

  private async textOf(key: string): Promise<string | null> {
    try {
      return await readFile(this.pathOf(key), 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  }

  /** A hash: names of streams may be longer than names of files, hold `:`, or differ by case alone. */
  private pathOf(key: string): string {
    const name = createHash('sha256').update(key).digest('hex').slice(0, 40);
    return join(this.directory, `version-${name}.json`);
  }
}

function versionIn(text: string, key: string): number {
  const content = parsed(text);
  const version = content?.key === key ? content.metadataVersion : undefined;
  if (version === undefined || !isVersion(version)) {
    throw new Error(`the file holds no version of "${key}"`);
  }
  return version;
}

function parsed(text: string): Partial<KeptVersion> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}

/** On the disk before it takes the name: a crash must not leave an empty file under it. */
async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx');
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}
