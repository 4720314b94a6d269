'use strict';

// jest reads testTimeout of the whole run only; each level of test has its own.
jest.setTimeout(globalThis.TEST_TIMEOUT_MS);
