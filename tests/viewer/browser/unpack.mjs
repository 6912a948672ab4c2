// Unpack the browser of `@sparticuz/chromium`, with its libraries and fonts, into the folder for temporary files.

import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.argv[2]}/`);
const own = (await import(pathToFileURL(require.resolve("@sparticuz/chromium")).href)).default;
await own.executablePath();

// The package's own file names folders of AWS Lambda, where there are no fonts: then Chromium ends as soon as it looks
// for a letter that its first font lacks. `relative`: to this file (fontconfig's fonts.conf(5), element `dir`).
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`;
writeFileSync(join(tmpdir(), "fonts", "fonts.conf"), FONTS);
