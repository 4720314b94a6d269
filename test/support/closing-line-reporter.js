'use strict';

const { writeFileSync } = require('node:fs');

/**
 * Counts what a whole run did, for its closing line `tests: N passed, N failed, N skipped`.
 * A suite that could not run at all (a syntax error, a missing module) has no failed tests of its own, yet something
 * failed: it counts as one. Under scripts/test.mjs the counts go to the file named by TEST_COUNTS_FILE, and that
 * script prints the line when jest has said its last word; without it the line is printed here.
 */
class ClosingLineReporter {
  onRunComplete(_contexts, results) {
    const counts = countsOf(results);
    const file = process.env.TEST_COUNTS_FILE;
    if (file) {
      writeFileSync(file, JSON.stringify(counts));
      return;
    }
    process.stderr.write(`${closingLine(counts)}\n`);
  }
}

function countsOf(results) {
  return {
    passed: results.numPassedTests,
    failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
    skipped: results.numPendingTests + results.numTodoTests,
  };
}

function closingLine({ passed, failed, skipped }) {
  return `tests: ${passed} passed, ${failed} failed, ${skipped} skipped`;
}

module.exports = ClosingLineReporter;
module.exports.countsOf = countsOf;
module.exports.closingLine = closingLine;
