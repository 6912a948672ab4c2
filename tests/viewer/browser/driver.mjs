// A browser for the tests: commands as JSON lines in, answers as JSON lines out. `tests/viewer/browser/driver.py` talks to it.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [, , folder, executable, unpacked] = process.argv;
const require = createRequire(`${folder}/`);
const { chromium } = require("playwright-core");

async function launched() {
  if (executable) return chromium.launch({ executablePath: executable, args: ["--no-sandbox", "--disable-gpu"] });
  const { TMPDIR } = process.env;
  process.env.TMPDIR = unpacked; // where the package looks for what it has unpacked, also its libraries and fonts
  const own = (await import(pathToFileURL(require.resolve("@sparticuz/chromium")).href)).default;
  const executablePath = await own.executablePath();
  if (TMPDIR === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = TMPDIR;
  own.setGraphicsMode = false; // an emulated graphics card takes more than half of the CPU time
  const args = own.args.filter((each) => each !== "--single-process");
  return chromium.launch({ executablePath, args: [...args, "--disable-gpu"] });
}

const browser = await launched();
/** @type {import("playwright-core").Page} */
let page;
let problems = [];
let requests = [];

async function opened({ url, dark, without = [], width = 1400, height = 850 }) {
  await page?.context().close();
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light", acceptDownloads: true });
  page = await context.newPage();
  await page.addInitScript((names) => names.forEach((name) => delete globalThis[name]), without);
  problems = [];
  requests = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("dialog", (dialog) => { problems.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => requests.push(request.url()));
  const began = performance.now();
  await page.goto(url);
  if (url === "about:blank") return 0;
  await page.locator("html[data-ready=true], .error").first().waitFor({ timeout: 30000 });
  return performance.now() - began;
}

// Large pictures are laid out in a worker.
const drawn = () => page.locator("#stage[aria-busy=true]").waitFor({ state: "detached", timeout: 30000 });

// The code is a test's own, given as a function's text.
const asFunction = (code) => (0, eval)(`(${code})`);

const commands = {
  open: opened,
  seen: () => ({ problems, requests }),
  evaluate: async ({ code, argument }) => {
    await drawn();
    return page.evaluate(asFunction(code), argument ?? null);
  },
  click: ({ selector, nth = 0 }) => page.locator(selector).nth(nth).click({ timeout: 5000 }),
  press: async ({ key }) => {
    await drawn(); // a new picture is fitted to the window
    await page.keyboard.press(key);
  },
  drag: async ({ from, to }) => {
    await page.mouse.move(...from);
    await page.mouse.down();
    await page.mouse.move(...to, { steps: 4 });
    await page.mouse.up();
  },
  move: ({ to }) => page.mouse.move(...to),
  wheel: async ({ at, by }) => {
    await page.mouse.move(...at);
    await page.mouse.wheel(0, by);
  },
  reload: () => page.reload().then(() => null),
  fill: ({ selector, text }) => page.locator(selector).fill(text),
  back: () => page.goBack(),
  forward: () => page.goForward(),
  media: async ({ media }) => {
    await page.emulateMedia({ media });
    await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(() => done(null))); }));
  },
  screenshot: ({ path }) => page.screenshot({ path }).then(() => null),
  script: ({ path }) => page.addScriptTag({ path: require.resolve(path) }).then(() => null),
  axe: async ({ rules }) => {
    await page.evaluate(require("axe-core").source);
    const options = JSON.stringify({ preload: false, ...(rules && { runOnly: rules }) });
    const violations = await page.evaluate(`axe.run(${options}).then((found) => found.violations)`);
    return violations.map(({ id, impact, nodes, help }) => ({ id, impact, help, where: nodes.slice(0, 3).map((node) => node.html) }));
  },
  download: async ({ selector }) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator(selector).click()]);
    return download.path();
  },
  viz: async ({ text }) => {
    const { instance } = require("@viz-js/viz");
    const { status, output, errors } = (await instance()).render(text, { format: "svg" });
    return status === "success" ? output : `${status}: ${JSON.stringify(errors)}`;
  },
  metrics: async () => {
    const session = await page.context().newCDPSession(page);
    await session.send("HeapProfiler.collectGarbage");
    await session.send("Performance.enable");
    const { metrics } = await session.send("Performance.getMetrics");
    return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
  },
};

console.log(JSON.stringify({ ready: browser.version() }));
for await (const line of createInterface({ input: process.stdin })) {
  const { command, ...rest } = JSON.parse(line);
  let answer;
  try {
    answer = { value: (await commands[command](rest)) ?? null };
  } catch (error) {
    answer = { error: String(error?.message ?? error) };
  }
  console.log(JSON.stringify(answer));
}
await browser.close();
