// A page in Chromium for the scripts beside this file. The test that runs a script does what happens around it: the
// script prints a line, and goes on when it gets one. Any error, also one in the page, ends it with a status.

import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export const { TOOLS, URL: url, PICTURES } = process.env;
const { chromium } = await import(pathToFileURL(join(TOOLS, "playwright-core/index.mjs")));
const axeSource = readFileSync(join(TOOLS, "axe-core/axe.min.js"), "utf8");
const LIMIT = 30_000;

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
export async function tell(text) {
  console.log(text);
  await lines.next();
}

const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
const problems = [];
const foreign = [];
let isServed = true;
// While nobody serves, the browser says so, also where a page without a session is refused.
export const setServed = (is) => { isServed = is; };
// What the browser says besides that is no problem of the page.
export const expected = [];

// A browser of its own: nothing of another one's session is in it.
export async function newBrowser() {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, colorScheme: "light" });
  const page = await context.newPage();
  page.setDefaultTimeout(LIMIT);
  page.on("pageerror", (error) => { console.error(error.stack); problems.push(error.stack); });
  page.on("console", (message) => {
    const text = message.text();
    if (message.type() === "error" && isServed && !expected.some((part) => text.includes(part))) problems.push(text);
  });
  page.on("dialog", (dialog) => { problems.push(`a dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("popup", (popup) => problems.push(`a window: ${popup.url()}`));
  page.on("request", (request) => { if (!request.url().startsWith(new URL(url).origin)) foreign.push(request.url()); });
  return { context, page };
}
const own = await newBrowser();
export const { context } = own;
export const { page } = own;

export function expect(condition, text) {
  if (!condition) throw new Error(text);
}

export const live = () => page.waitForSelector("body[data-connection=live]");
export const go = async (hash) => {
  await page.evaluate((to) => { location.hash = to; }, hash);
  await page.waitForFunction((to) => location.hash === to && document.querySelector("main h2"), hash);
};

// axe-core finds no serious problem. It runs outside of the page's own world, whose policy forbids foreign code.
export async function accessible(name) {
  const client = await context.newCDPSession(page);
  const { frameTree } = await client.send("Page.getFrameTree");
  const { executionContextId } = await client.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id, worldName: "axe" });
  await client.send("Runtime.evaluate", { expression: axeSource, contextId: executionContextId });
  const run = "axe.run(document, { resultTypes: ['violations'] }).then((found) => JSON.stringify(found.violations.map((v) => [v.impact, v.id, v.nodes.map((n) => n.target.join(' ') + ': ' + n.failureSummary)])))";
  const { result, exceptionDetails } = await client.send("Runtime.evaluate", { expression: run, contextId: executionContextId, awaitPromise: true, returnByValue: true });
  expect(!exceptionDetails, `axe-core on ${name}: ${JSON.stringify(exceptionDetails)}`);
  const serious = JSON.parse(result.value).filter(([impact]) => impact === "serious" || impact === "critical");
  // All of it is told in the end, not the first alone.
  if (serious.length > 0) problems.push(`axe-core on ${name}: ${JSON.stringify(serious, null, 1)}`);
  await client.detach();
}

export async function picture(name, width, height, colorScheme) {
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme });
  const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  if (isWide) problems.push(`${name} scrolls sideways`);
  await page.screenshot({ path: join(PICTURES, `web-${name}.png`) });
}

// The end: nothing went wrong in the page, and it asked nobody else.
export async function finish() {
  expect(problems.length === 0, problems.join("\n"));
  expect(foreign.length === 0, `requests to elsewhere: ${foreign.join(" ")}`);
  await browser.close();
  console.log("all is well");
  process.exit(0);
}
