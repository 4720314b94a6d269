import { describe, expect, it } from '@jest/globals';
import { redisUrlFaults } from '../../../../src/client/redis/connection';

describe('a Redis URL', () => {
  it.each([
    'redis://localhost',
    'redis://:p%40ss@host:6379/2',
    'rediss://user:pa:ss@host',
    'redis://h?family=6',
  ])('is taken: %s', (url) => {
    expect(redisUrlFaults(url)).toEqual([]);
  });

  it.each(['redis://:p@ss@host', 'redis://:p/ss@host', 'redis://:p#ss@host', 'redis://u:p?ss@host'])(
    'is refused with reserved characters in the password, and never quoted: %s',
    (url) => {
      const [fault] = redisUrlFaults(url);
      expect(fault).toMatch(/percent-encoded/);
      expect(fault).not.toContain('ss@');
    },
  );

  it.each(['http://host', '', 'redis://', 'localhost:6379'])('is refused: "%s"', (url) => {
    expect(redisUrlFaults(url).length).toBe(1);
  });
});
