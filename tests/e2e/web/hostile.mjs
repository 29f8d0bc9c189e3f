// A team whose every field wants to be more than text; run by hostile.rs. Whatever runs, is loaded or is refused by the
// policy ends the script: `drive.mjs` collects dialogs, errors of the page and requests to elsewhere.

import { context, expect, finish, go, live, page, setServed, url } from "./drive.mjs";

await context.addInitScript(() => {
  globalThis.violations = [];
  document.addEventListener("securitypolicyviolation", (event) => globalThis.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
});

const shown = new Set();
// Waits until each of these fields is on the page, and looks at what they have become.
async function check(view, fields) {
  await page.waitForFunction((all) => all.every((field) => document.documentElement.textContent.includes(`@${field}@`)), fields.split(" ")).catch(async () => {
    const text = await page.evaluate(() => document.documentElement.textContent);
    throw new Error(`${view} does not show ${fields.split(" ").filter((field) => !text.includes(`@${field}@`)).join(" ")}`);
  });
  fields.split(" ").forEach((field) => shown.add(field));
  await clean(view);
}

async function clean(view) {
  const found = await page.evaluate(() => {
    const own = "header.top img, head > link, head > meta, head > style, head > script, form.compose, form[role=search], form.card, dialog form";
    const markup = "img, iframe, script, style, link, base, meta, object, embed, form, video, audio, template, [srcdoc], [style], [onerror], [onload], [onfocus], [onclick], [autofocus]:not(input, textarea)";
    const bad = [...document.querySelectorAll(markup)].filter((node) => !node.matches(own)).map((node) => node.outerHTML.slice(0, 200));
    const wrong = [...document.querySelectorAll("a[href], area[href]")].filter((node) => !/^(#|https?:\/\/)/.test(node.getAttribute("href"))).map((node) => node.outerHTML.slice(0, 200));
    return { bad, wrong, violations: globalThis.violations, prototype: Object.keys(Object.prototype) };
  });
  expect(Object.values(found).every((list) => list.length === 0), `${view}: ${JSON.stringify(found, null, 1)}`);
}

await page.goto(url);
await live();
await check("home", "team folder heading item quote patch code tool argument cwd why path old new command question choice role failure doing doing_what todo refusal file diff");
expect((await page.title()).includes("@team@"), "the title has no name");
expect(!(await page.locator(".markdown a[href*='onclick']").evaluateAll((nodes) => nodes.some((node) => node.onclick))), "a link runs something");
// What they are called for those who do not see them is text too.
await go("#/board");
await check("the board", "subject task_role second");
await page.click("[data-task='1'] .subject");
await page.waitForSelector("dialog [name=description]");
await page.click("dialog summary");
const values = await page.evaluate(() => [...document.querySelectorAll("dialog input, dialog textarea")].map((node) => node.value).join(" "));
expect(["subject", "description", "task_role"].every((field) => values.includes(`@${field}@`)), `the dialog has ${values}`);
await check("a task", "result done history");
await page.keyboard.press("Escape");
await page.click("text=Show graph");
await page.waitForSelector(".graph .node");
await check("the graph", "subject second");
await page.click("text=Show columns");
await go("#/member/alice");
await check("a conversation", "prompt mail mail_from mailtype told said call input result_text engine engine_old engine_new engine_path engine_content output_1 output_3 ended refusal failure".replace(" input", ""));
await page.evaluate(() => document.querySelectorAll("details").forEach((node) => { node.open = true; }));
await clean("an open conversation");
await page.click("main button:text-is('Restart')");
await page.waitForSelector("dialog");
await clean("a dialog");
await page.keyboard.press("Escape");
await go("#/member/dora");
await check("a live conversation", "live spawned");
await page.click("main button:text-is('Changes')");
await check("changes", "diff file");
await go("#/messages");
await check("messages", "sender type preview person");
await go("#/costs");
await check("costs", "model");
await go("#/work");
await check("work", "submitted because conflict hunks by check end check_output commit file diff");
await page.click("[data-submission='1'] summary");
await page.waitForSelector("[data-submission='1'] .diff .added");
await clean("a submission");
await go("#/events");
await check("events", "sender type preview person leave dead_letter action limits switched overload note hook hook_reason spawned");
await page.fill("[name=q]", "@leave@");
await page.keyboard.press("Enter");
await page.waitForFunction(() => [...document.querySelectorAll("main .feed li")].every((item) => item.textContent.includes("@leave@")));
await clean("a search");
await go("#/sessions");
await check("sessions", "agent somebody");

// Names that only the address has, and names of what every object has.
const evil = "@address@<img src=x onerror=alert('address')>";
for (const hash of [`#/member/${encodeURIComponent(evil)}`, `#/${encodeURIComponent(evil)}`, "#/constructor", "#/__proto__", "#/member/__proto__", "#/member/%E0%A4%A", "#/%00"]) {
  await page.evaluate((to) => { location.hash = to; }, hash);
  await page.waitForFunction((to) => location.hash === to && document.querySelector("main h2"), hash);
  await clean(hash);
}

// What went wrong is text as well.
await go("#/");
setServed(false);
await page.evaluate(async (name) => {
  const [{ run }, { post }] = await Promise.all([import("/js/actions.js"), import("/js/net.js")]);
  await run(() => post("/api/send", { to: name, text: "x" }));
  await run(() => Promise.reject(new Error(name)));
}, evil);
await page.waitForFunction(() => document.querySelectorAll(".toast.bad").length === 2);
await check("errors", "address");
setServed(true);
expect(shown.size > 60, `only ${shown.size} fields were shown`);
expect(page.url().startsWith(new URL(url).origin) && context.pages().length === 1, "the page has gone elsewhere");
await finish();
