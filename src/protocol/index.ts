export * from './errors';
export * from './group';
export * from './heartbeat';
export * from './monitoring';
export * from './timing';
export * from './versions';
