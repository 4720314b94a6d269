/** Injection tokens of the ports of this folder; `StoreModule` binds them to Redis. */
export const METADATA_STORE = Symbol('METADATA_STORE');
export const GROUP_INDEX = Symbol('GROUP_INDEX');
export const LOOP_STORE = Symbol('LOOP_STORE');
export const STREAM_REGISTRY = Symbol('STREAM_REGISTRY');
export const STREAM_PROVISIONER = Symbol('STREAM_PROVISIONER');
export const NOTICE_BUS = Symbol('NOTICE_BUS');
