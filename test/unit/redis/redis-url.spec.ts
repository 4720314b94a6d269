import { describe, expect, it } from '@jest/globals';
import { checkedRedisUrl, RedisUrlError } from '../../../src/redis/redis-url';

describe('the Redis URL', () => {
  it.each([
    'redis://127.0.0.1:6379',
    'redis://localhost',
    'rediss://user:secret@redis.example.com:6380/2',
    'redis://:secret@[::1]:6379/0',
    'redis://user@host',
    `redis://:${encodeURIComponent('p@ss:w/rd#?% ')}@host:6379`,
  ])('is taken as it is: %s', (url) => {
    expect(checkedRedisUrl(url)).toBe(url);
  });

  it.each([
    ['redis://:pa@ss@host:6379', /unencoded "@"/],
    ['redis://:pa:ss@host:6379', /unencoded ":"/],
    ['redis://:pa/ss@host:6379', /unencoded "\/"/],
    ['redis://:pa#ss@host:6379', /unencoded "#"/],
    ['redis://:pa?ss@host:6379', /unencoded "\?"/],
    ['redis://us/er:pass@host:6379', /unencoded "\/"/],
    ['redis://:100%@host', /%25/],
  ])('refuses a password that would mean another host, and says how to write it', (url, explanation) => {
    expect(() => checkedRedisUrl(url)).toThrow(RedisUrlError);
    expect(() => checkedRedisUrl(url)).toThrow(explanation);
  });

  it.each([
    'http://host',
    'host:6379',
    '',
    'redis://',
    'redis://host:port',
    'redis://host/orders',
    'redis://host?family=6',
    'redis://host#a',
    'redis://:secret@',
  ])('refuses %s', (url) => {
    expect(() => checkedRedisUrl(url)).toThrow(RedisUrlError);
  });

  it('never shows the URL in what it says', () => {
    try {
      checkedRedisUrl('redis://:top/secret@host');
      throw new Error('was taken');
    } catch (error) {
      expect(String(error)).not.toMatch(/top|secret/);
    }
  });
});
