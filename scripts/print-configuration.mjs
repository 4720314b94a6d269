// Prints the configuration table of the README, from the options themselves. After `npm run build`.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { renderConfigurationTable } = require('../dist/config/configuration-table.js');

process.stdout.write(renderConfigurationTable());
