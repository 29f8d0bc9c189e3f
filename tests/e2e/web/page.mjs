// A person answers, watches, drags, and comes back after a restart of the server; run by browser.rs.

import { accessible, expect, finish, go, live, page, setServed, tell, url } from "./drive.mjs";

// In.
await page.goto(url);
await live();
expect(!page.url().includes(new URL(url).hash.slice(1)), "the token is still in the address");
await page.waitForSelector("article[aria-label='Plan of alice']");

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
await page.click("main button:text-is('Send')");
await tell("wrote to carol");
// Output is folded until somebody asks for it.
const output = page.locator(".entry.call:has-text('ls')");
expect(!(await output.locator("details").evaluate((node) => node.open)), "output is not folded");
await output.locator("summary").click();
await output.locator("pre:has-text('notes.md')").waitFor();

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
// Every event that is found has both words; the notice to the lead of her death is one of them.
await page.waitForFunction(() => {
  const found = [...document.querySelectorAll(".feed li")].map((item) => item.textContent);
  return found.some((text) => text.includes("! carol died")) && found.every((text) => text.includes("carol") && text.includes("died"));
});

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
setServed(false);
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

await finish();
