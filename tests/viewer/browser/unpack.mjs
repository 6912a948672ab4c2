// Unpack the browser of `@sparticuz/chromium`, with its libraries and fonts, into the folder for temporary files.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.argv[2]}/`);
const own = (await import(pathToFileURL(require.resolve("@sparticuz/chromium")).href)).default;
await own.executablePath();
