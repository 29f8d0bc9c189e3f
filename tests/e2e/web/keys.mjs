// A whole visit with keys alone; run by keys.rs.

import { expect, finish, live, page, tell, url } from "./drive.mjs";

const press = (...keys) => keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());
// What has the focus: waits until it is so.
const focusIs = (what, value) => page.waitForFunction(([name, wanted]) => {
  const node = document.activeElement;
  return { label: node.getAttribute("aria-label"), text: node.textContent, id: node.id, name: node.name, task: node.dataset.task, tag: node.tagName }[name] === wanted;
}, [what, value]).catch(async (error) => {
  throw new Error(`the focus is not on ${what} ${value} but on ${await page.evaluate(() => document.activeElement.outerHTML.slice(0, 300))}: ${error.message}`);
});
const hasFocus = (what) => page.evaluate((part) => {
  const node = document.activeElement;
  return (node.getAttribute("aria-label") ?? node.textContent ?? "").includes(part);
}, what);
// Presses a key until what it leads to has the focus.
async function until(key, what, most) {
  for (let count = 0; count < most; count += 1) {
    await press(key);
    if (await hasFocus(what)) return;
  }
  throw new Error(`${key} does not lead to ${what}`);
}

// In, and past the tabs to what waits first.
await page.goto(url);
await live();
await page.waitForSelector("article[aria-label='Permission of bob']");
await page.waitForSelector("article[aria-label='Plan of alice']");
await press("Tab");
await focusIs("text", "Skip to the content");
await press("Enter");
await focusIs("id", "main");
await press("j");
await focusIs("label", "Plan of alice");

// A held key approves one card alone; the next one has the focus, and is not approved with it.
await page.keyboard.down("a");
await page.keyboard.down("a");
await page.waitForSelector("article[aria-label='Plan of alice']", { state: "detached" });
await page.waitForSelector("[role=status] >> text=Plan of alice: approved");
await focusIs("label", "Permission of bob");
await page.keyboard.down("a");
await page.keyboard.up("a");
await tell("approved the plan");
await focusIs("label", "Permission of bob");

// A reason, and the button behind it. With the last card the focus goes to the heading.
await press("x");
await focusIs("label", "Feedback for bob");
await page.keyboard.type("Not before the release.");
await until("Tab", "Reject", 6);
await press("Enter");
await page.waitForSelector("article[aria-label='Permission of bob']", { state: "detached" });
await focusIs("id", "waiting");
await page.waitForSelector("text=Nothing waits for you.");
await tell("rejected the call");

// A conversation: fold out an output, and write.
await until("j", "carol", 6);
await press("Enter");
await focusIs("text", "carol");
await page.waitForSelector(".entry.call:has-text('ls')");
await until("Tab", "$ ls", 20);
await press("Enter");
await page.waitForSelector(".entry.call details[open]:has-text('notes.md')");
await until("Tab", "Message to carol", 20);
await page.keyboard.type("From the keys.");
await press("Control+Enter");
await tell("wrote to carol");

// The board: a task is made, made more important and changed. The focus stays with it.
await press("Tab");
await focusIs("text", "Send");
await press("g", "b");
await focusIs("text", "Board");
await press("t");
await focusIs("name", "subject");
await page.keyboard.type("Made with keys");
await press("Tab", "Tab", "Tab");
await focusIs("name", "role");
await page.keyboard.type("nobody");
await press("Enter");
await page.waitForSelector("dialog", { state: "detached" });
await page.waitForSelector("text=#5 Made with keys");
await until("j", "Task 5: Made with keys", 8);
await press("+");
await page.waitForSelector("[data-task='5'] .priority:text-is('6')");
await focusIs("task", "5");
await press("Enter");
await focusIs("name", "subject");
await press("Control+A");
await page.keyboard.type("Changed with keys");
await press("Enter");
await page.waitForSelector("dialog", { state: "detached" });
await focusIs("label", "Task 5: Changed with keys");
await tell("changed task 5");

// A dialog is closed, and the focus is where it was.
await press("?");
await page.waitForSelector("dialog h2:text('Keys')");
await press("Escape");
await page.waitForSelector("dialog", { state: "detached" });
await focusIs("label", "Task 5: Changed with keys");

// A message from anywhere. In a dialog Tab goes round.
await press("m");
await focusIs("name", "text");
await page.keyboard.type("From a dialog.");
await press("Shift+Tab");
await focusIs("name", "to");
await page.keyboard.type("carol");
await until("Tab", "Send", 4);
await press("Tab");
await focusIs("name", "to");
await until("Shift+Tab", "Send", 2);
await press("Enter");
await page.waitForSelector("dialog", { state: "detached" });
await focusIs("label", "Task 5: Changed with keys");
await tell("wrote to carol again");

// What somebody else answers goes away under the focus: the next key does not hit what follows.
await press("g", "h");
await focusIs("text", "Waits for you");
await tell("ask two plans");
await page.waitForSelector("article[aria-label='Plan of erin']");
await page.waitForSelector("article[aria-label='Plan of frank']");
await press("j");
await focusIs("label", "Plan of erin");
await tell("decide the plan of erin");
await page.waitForSelector("article[aria-label='Plan of erin']", { state: "detached" });
await focusIs("id", "waiting");
await page.waitForSelector("[role=status] >> text=Plan of erin was approved by");
await press("a");
expect(await page.locator("article[aria-label='Plan of frank']").count() === 1, "a key has hit another card");
await finish();
