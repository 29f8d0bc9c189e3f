// Drives the page in Chromium, as a person would. The test in browser.rs does what happens around it: this script
// prints a line, and goes on when it gets one. Any error, also one in the page, ends it with a status.

import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { TOOLS, URL: url, PICTURES } = process.env;
const { chromium } = await import(pathToFileURL(join(TOOLS, "playwright-core/index.mjs")));
const axeSource = readFileSync(join(TOOLS, "axe-core/axe.min.js"), "utf8");
const LIMIT = 30_000;

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
async function tell(text) {
  console.log(text);
  await lines.next();
}

const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, colorScheme: "light" });
const page = await context.newPage();
page.setDefaultTimeout(LIMIT);
const problems = [];
const foreign = [];
let isServed = true;
page.on("pageerror", (error) => { console.error(error.stack); problems.push(error.stack); });
page.on("console", (message) => { if (message.type() === "error" && isServed) problems.push(message.text()); });
page.on("dialog", (dialog) => problems.push(`a dialog: ${dialog.message()}`));
page.on("request", (request) => { if (!request.url().startsWith(new URL(url).origin)) foreign.push(request.url()); });

function expect(condition, text) {
  if (!condition) throw new Error(text);
}

const live = () => page.waitForSelector("body[data-connection=live]");
const go = async (hash) => {
  await page.evaluate((to) => { location.hash = to; }, hash);
  await page.waitForFunction((to) => location.hash === to && document.querySelector("main h2"), hash);
};

// axe-core finds no serious problem. It runs outside of the page's own world, whose policy forbids foreign code.
async function accessible(name) {
  const client = await context.newCDPSession(page);
  const { frameTree } = await client.send("Page.getFrameTree");
  const { executionContextId } = await client.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id, worldName: "axe" });
  await client.send("Runtime.evaluate", { expression: axeSource, contextId: executionContextId });
  const run = "axe.run(document, { resultTypes: ['violations'] }).then((found) => JSON.stringify(found.violations.map((v) => [v.impact, v.id, v.nodes.map((n) => n.target.join(' ') + ': ' + n.failureSummary)])))";
  const { result, exceptionDetails } = await client.send("Runtime.evaluate", { expression: run, contextId: executionContextId, awaitPromise: true, returnByValue: true });
  expect(!exceptionDetails, `axe-core on ${name}: ${JSON.stringify(exceptionDetails)}`);
  const serious = JSON.parse(result.value).filter(([impact]) => impact === "serious" || impact === "critical");
  expect(serious.length === 0, `axe-core on ${name}: ${JSON.stringify(serious, null, 1)}`);
  await client.detach();
}

async function picture(name, width, height, colorScheme) {
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme });
  const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  expect(!isWide, `${name} scrolls sideways`);
  await page.screenshot({ path: join(PICTURES, `web-${name}.png`) });
}

// In.
await page.goto(url);
await live();
expect(!page.url().includes(new URL(url).hash.slice(1)), "the token is still in the address");
await page.waitForSelector("article[aria-label='Plan of alice']");

// Pictures of what waits, and the rules of accessibility in both schemes.
await picture("desktop-dark", 1280, 860, "dark");
await accessible("home in dark");
await picture("phone-dark", 360, 740, "dark");
await picture("phone-light", 360, 740, "light");
await accessible("home on a phone");
await picture("desktop-light", 1280, 860, "light");
await accessible("home");

// Text of members is text.
expect(await page.locator("main img").count() === 0, "markup of a plan became an element");
expect(await page.getByText("<img src=x onerror=alert(1)>").count() === 1, "markup of a plan is not shown as text");

// A plan, with the keyboard alone.
await page.locator("article[aria-label='Plan of alice']").focus();
await page.keyboard.press("a");
await page.waitForSelector("article[aria-label='Plan of alice']", { state: "detached" });
await tell("approved the plan");

// A tool call.
await page.click("article[aria-label='Permission of bob'] >> text=Allow once");
await page.waitForSelector("article[aria-label='Permission of bob']", { state: "detached" });
await tell("allowed the call");

// A conversation.
await page.click("a.member:has-text('carol')");
await page.waitForSelector(".entry.said strong:text('read')");
await page.waitForSelector(".entry.call .diff .added:text('# Notes')");
expect(await page.getByText("<script>alert(1)</script>").count() === 1, "markup of a reply is not shown as text");
await accessible("a conversation");
await page.fill("[aria-label='Message to carol']", "From the page.");
await page.screenshot({ path: join(PICTURES, "web-member.png") });

// A death and a restart.
await go("#/");
await tell("kill carol");
await page.waitForSelector("a.member:has-text('carol') .state.dead");
await page.click("a.member:has-text('carol')");
await page.click("main button:text-is('Restart')");
await page.click("dialog button:text-is('Restart')");
await page.waitForSelector("dialog", { state: "detached" });
await tell("restarted carol");
await go("#/");
await page.waitForSelector("a.member:has-text('restarted 1x') .state.idle");

// The board.
await go("#/board");
await page.waitForSelector("[data-task='3']");
await page.dragAndDrop("[data-task='3']", "[data-task='1']", { sourcePosition: { x: 5, y: 5 } });
await page.waitForSelector("[data-task='3'] .priority:text('6')");
await tell("dragged task 3 before task 1");
await page.click("text=New task");
await page.fill("[name=subject]", "From the page");
await page.fill("[name=role]", "nobody");
await page.click("dialog >> button:text('Create')");
await page.click("text=#5 From the page");
await page.fill("[name=subject]", "From the page, changed");
await page.click("dialog >> button:text('Save')");
await page.waitForSelector("text=#5 From the page, changed");
await accessible("the board");
await page.click("text=Show graph");
await page.waitForSelector(".graph .node[aria-label^='#4 Release it']");
expect(await page.locator(".graph path").count() === 2, "the graph has no two edges");
await accessible("the graph");
await page.screenshot({ path: join(PICTURES, "web-graph.png") });
await page.click("text=Show columns");

// The other views.
for (const [hash, content] of [["#/messages", ".flow .arrow"], ["#/costs", ".chart rect"], ["#/work", "text=No submissions."],
  ["#/events", ".feed time"], ["#/sessions", "text=(this browser)"]]) {
  await go(hash);
  await page.waitForSelector(content, { state: "attached" });
  await accessible(hash);
}
await go("#/events");
await page.fill("[name=q]", "carol died");
await page.keyboard.press("Enter");
await page.waitForFunction(() => [...document.querySelectorAll(".feed li")].every((item) => item.textContent.includes("carol died")));

// Keys.
await go("#/");
await page.keyboard.press("g");
await page.keyboard.press("b");
await page.waitForSelector("h2:text('Board')");
await page.keyboard.press("?");
await page.waitForSelector("dialog h2:text('Keys')");
await accessible("a dialog");
await page.keyboard.press("Escape");

// The server dies and comes back: nothing old is shown as if it were new.
isServed = false;
await tell("kill the server");
await page.waitForSelector("body[data-connection=lost]");
expect(await page.evaluate(() => document.getElementById("main").inert), "old buttons can be pressed");
await tell("start the server");
await live();
await page.waitForSelector("text=Made while nobody served");

await tell("end all sessions");
await page.waitForSelector("body[data-connection=out]");
await page.waitForSelector("text=Not logged in");
expect(await page.getByText("Made while nobody served").count() === 0, "a page without a session shows the team");

expect(problems.length === 0, problems.join("\n"));
expect(foreign.length === 0, `requests to elsewhere: ${foreign.join(" ")}`);
await browser.close();
console.log("all is well");
process.exit(0);
