// Pictures of a team at work, and what a person does there besides; run by scene.rs.

import { accessible, expect, finish, go, live, page, picture, tell, url } from "./drive.mjs";

const card = (label) => page.locator(`article[aria-label='${label}']`);
const gone = (label) => card(label).waitFor({ state: "detached" });
const dialog = async (button) => {
  await page.click(`dialog button:text-is('${button}')`);
  await page.waitForSelector("dialog", { state: "detached" });
};

await page.goto(url);
await live();
for (const label of ["Plan of grace", "Permission of linus", "Question of edsger", "Work to land"]) await card(label).waitFor();
// The folder of a test says nothing.
const named = () => page.evaluate(() => {
  document.getElementById("team-folder").textContent = "~/src/tiny-sql/.team";
  const folder = /\/\S*?\/workspace/g;
  for (const node of document.querySelectorAll("main .request > p")) node.textContent = node.textContent.replace(folder, "~/src/tiny-sql");
});

// Every view on a phone and on a desktop, dark and light.
const SHAPES = ["dark", "light"].flatMap((scheme) => [["phone", 360, 740, scheme], ["desktop", 1280, 860, scheme]]);
for (const [size, width, height, scheme] of SHAPES) {
  await named();
  await picture(`${size}-${scheme}`, width, height, scheme);
  await accessible(`home, ${size}, ${scheme}`);
}
for (const scheme of ["dark", "light"]) {
  await picture(`wide-${scheme}`, 3840, 2160, scheme);
  await accessible(`home, wide, ${scheme}`);
}
await page.setViewportSize({ width: 1280, height: 860 });

// What members write is text: in plans, patches, and names of files.
expect(await page.locator("main img, main .what b").count() === 0, "markup became an element");
expect(await page.locator("a[href^='javascript']").count() === 0, "a script became a link");
expect(await page.getByText("tests/<b>bold</b>.sql").count() > 0, "the name of a file is not shown as it is");
expect(await page.locator(".what .diff .added").count() > 0, "the patch of a plan has no colours");

// The other views; none scrolls sideways.
for (const [hash, content, name] of [["#/board", "[data-task='6']", "board"], ["#/messages", ".flow .arrow", "messages"],
  ["#/costs", ".chart rect", "costs"], ["#/work", "text=Test strings with quotes", "work"], ["#/events", ".feed time", "events"],
  ["#/sessions", "text=(this browser)", "sessions"], ["#/member/ada", "text=scripts/soak", "member"]]) {
  await go(hash);
  await page.waitForSelector(content, { state: "attached" });
  for (const [size, width, height, scheme] of SHAPES) {
    await named();
    await picture(`${name}-${size}-${scheme}`, width, height, scheme);
    await accessible(`${hash}, ${size}, ${scheme}`);
  }
}
// What is folded is looked at too, and the tab of a view is to be seen on a phone.
await page.setViewportSize({ width: 360, height: 740 });
await go("#/sessions");
const tab = await page.locator("[aria-current=page]").boundingBox();
expect(tab.x >= 0 && tab.x + tab.width <= 360, `the tab of the view is at ${tab.x}`);
await go("#/work");
await page.click("[data-submission='1'] summary");
await page.waitForSelector("[data-submission='1'] .diff .added");
await accessible("a submission");
await go("#/board");
await page.click("text=Show graph");
await page.waitForSelector(".graph .node");
expect(await page.locator(".graph path").count() === 5, "the graph has no five edges");
for (const [size, width, height, scheme] of SHAPES) {
  await picture(`graph-${size}-${scheme}`, width, height, scheme);
  await accessible(`the graph, ${size}, ${scheme}`);
}
await page.click("text=Show columns");

// The dialogs.
for (const [hash, button] of [["#/board", "#message"], ["#/board", "#spawn"], ["#/board", "text=New task"], ["#/board", "[data-task='6'] .subject"],
  ["#/costs", "text=Raise the budget"], ["#/member/ada", "text=Shut down"], ["#/member/ada", "main button:text-is('Restart')"]]) {
  await go(hash);
  for (const [size, width, height, scheme] of [SHAPES[0], SHAPES[3]]) {
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme: scheme });
    await page.click(button);
    await page.waitForSelector("dialog");
    await accessible(`the dialog of ${button}, ${size}, ${scheme}`);
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
  }
}

// A question by its choice, a rejection with its reason, and the work into the user's branch.
await go("#/");
await card("Question of edsger").locator("text=Only with ORDER BY").click();
await gone("Question of edsger");
await tell("answered the question");
await card("Permission of linus").focus();
await page.keyboard.press("x");
await page.keyboard.type("Not before the release.");
await card("Permission of linus").locator("button:text-is('Reject')").click();
await gone("Permission of linus");
await tell("rejected the call");
await card("Work to land").locator("text=Bring into my branch").click();
await gone("Work to land");
await tell("landed");

// A new member, a message to all, a budget.
await page.keyboard.press("Escape");
await page.click("#spawn");
await page.fill("dialog [name=name]", "carol");
await page.fill("dialog [name=role]", "designer");
await dialog("Start");
await page.waitForSelector("a.member:has-text('carol')");
await tell("started carol");
await page.click("#message");
await page.selectOption("dialog [name=to]", "*");
await page.fill("dialog [name=text]", "Lunch is at noon.");
await dialog("Send");
await tell("wrote to everybody");
await go("#/costs");
await page.click("text=Raise the budget");
await page.fill("dialog [name=max_tokens]", "2000000");
await dialog("Set");
await tell("set the budget");
await page.waitForSelector("#spent:has-text('of 2.0M')");

// Restart, and a request to end.
await go("#/member/edsger");
await page.click("main button:text-is('Restart')");
await dialog("Restart");
await tell("restarted edsger");
await go("#/member/barbara");
await page.click("main button:text-is('Shut down')");
await page.fill("dialog [name=reason]", "The tests are in.");
await dialog("Ask");
await go("#/events");
await page.waitForSelector(".feed li:has-text('barbara')");
await finish();
