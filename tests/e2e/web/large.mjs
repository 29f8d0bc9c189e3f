// 100 members, 10,000 tasks and a long log in a browser; run by load.rs. The page does what it is told, and stays small.

import { expect, finish, go, live, page, tell, url } from "./drive.mjs";

// However large the team is, the page has no more elements than this.
const MOST = 12_000;
const bounded = async (name) => {
  const count = await page.evaluate(() => document.getElementsByTagName("*").length);
  expect(count < MOST, `${name} has ${count} elements`);
  const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  expect(!isWide, `${name} scrolls sideways`);
};

await page.goto(url);
await live();
await page.waitForSelector("a.member:has-text('member99')");
expect(await page.locator("a.member").count() === 100, "not all members are shown");
await bounded("home");

// The columns name the whole numbers, and show the next tasks.
await go("#/board");
const total = (column) => page.locator(`.column:has(h3:has-text('${column}')) h3 span`).textContent();
await page.waitForSelector("[data-task='1']");
expect(await total("Completed") === "5000", `completed: ${await total("Completed")}`);
expect(Number(await total("Ready")) + Number(await total("Blocked")) === 5000, "ready and blocked are not all of the pending ones");
await bounded("the board");
const blocked = page.locator(".column:has(h3:has-text('Blocked'))");
for (let more = 2; more <= 5; more += 1) {
  await blocked.locator("text=Show more").click();
  await page.waitForFunction((count) => document.querySelectorAll("ol[aria-label=Blocked] > li").length === count, more * 100);
}
await blocked.locator("text=team-lead task list").waitFor();
expect(await blocked.locator("text=Show more").isHidden(), "a column grows without an end");
await bounded("a long column");
await page.click("[data-task='1'] .subject");
await page.fill("dialog [name=subject]", "Changed among ten thousand");
await page.click("dialog button:text-is('Save')");
await page.waitForSelector("dialog", { state: "detached" });
await page.waitForSelector("text=Changed among ten thousand");
await page.click("text=Show graph");
await page.waitForSelector(".graph .node");
await bounded("the graph");
await page.click("text=Show columns");

// While the log is flooded the page goes on, on a phone too.
await go("#/events");
await page.setViewportSize({ width: 360, height: 740 });
await tell("flood");
await page.waitForFunction(() => document.querySelector(".feed").textContent.includes("4999 zzz"));
await bounded("events");
for (const hash of ["#/messages", "#/costs", "#/", "#/board", "#/member/member7"]) {
  await go(hash);
  await bounded(hash);
}
await page.fill("[aria-label='Message to member7']", "Still there?");
await page.click("main button:text-is('Send')");
await page.waitForSelector(".toast:has-text('Sent')");
await finish();
