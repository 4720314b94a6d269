import { type LuaScriptName, readLuaCatalog } from '../../src/redis/lua-catalog';

const catalog = readLuaCatalog();

function isCallOf(name: LuaScriptName): (sent: string) => boolean {
  const { sha1, text } = catalog.get(name)!;
  const [firstLine = ''] = text.split('\n');
  return (sent) => sent.includes(sha1) || sent.includes(firstLine);
}

/** Whether what was sent to Redis takes the lock of a section. */
export const isLock = isCallOf('section/lock-and-load');
/** Whether it is the write of a section. */
export const isCommit = isCallOf('section/commit-and-unlock');
