// What ends differently than asked; run by outcomes.rs.

import { accessible, expect, finish, go, live, page, picture, setServed, tell, url } from "./drive.mjs";

const ask = async (name) => {
  await go(`#/member/${name}`);
  await page.click("main button:text-is('Shut down')");
  await page.fill("dialog [name=reason]", "The work is done.");
  await page.click("dialog button:text-is('Ask')");
  await page.waitForSelector("dialog", { state: "detached" });
};
const seen = (selector, text) => page.locator(selector, { hasText: text }).waitFor();

await page.goto(url);
await live();

// A member refuses to end: it is said, stays on the page of the member and at home, and goes when it is dismissed.
await ask("alice");
await seen(".toast.bad", "alice does not end");
await seen(".ending", "alice does not end");
await seen(".ending .state", "rejected");
await page.click(".toast.bad [aria-label=Close]");
await go("#/");
await seen("main article", "alice does not end");

// One agrees.
await ask("carol");
await seen(".ending .state", "approved");
await page.waitForSelector(".heading .state.shutdown");

// One does not answer, and dies.
await ask("bob");
await seen(".ending", "bob is asked to end");
await tell("bob dies");
await seen(".toast.bad", "bob was asked to end, and that has expired");
await page.click(".toast.bad [aria-label=Close]");

// Somebody else is first.
await go("#/");
await tell("dora asks");
await page.waitForSelector("article[aria-label='Plan of dora']");
await tell("maria decides");
await page.waitForSelector("article[aria-label='Plan of dora']", { state: "detached" });
await seen(".toast", "Plan of dora was rejected by");
await seen(".toast", "It is too long.");
// The answer that was on its way.
setServed(false);
const late = await page.evaluate(async () => {
  const [{ post }, { state }] = await Promise.all([import("/js/net.js"), import("/js/state.js")]);
  const { id } = state.events.findLast((event) => event.outcome?.kind === "plan").outcome;
  return post("/api/answer", { id, approve: true, text: "" }).then(() => "it counts", (error) => error.message);
});
setServed(true);
expect(late.includes("has no effect"), `the page says: ${late}`);

// All of it is there for whoever comes later, until it is dismissed.
await page.reload();
await live();
await seen("main article", "alice does not end");
await seen("main article", "bob was asked to end");
expect(await page.locator(".toast").count() === 0, "what was there before is told again");
for (const scheme of ["light", "dark"]) {
  for (const [size, width, height] of [["phone", 360, 740], ["desktop", 1280, 860]]) {
    await picture(`outcomes-${size}-${scheme}`, width, height, scheme);
    await accessible(`outcomes, ${size}, ${scheme}`);
    const box = await page.locator("main article:has-text('alice does not end')").boundingBox();
    expect(box.height < 200, `what a member said is ${box.height} high`);
  }
}
await page.focus("main article:has-text('alice does not end')");
await page.click("main article:has-text('alice does not end') >> text=Dismiss");
await page.waitForSelector("main article:has-text('alice does not end')", { state: "detached" });
await page.click("main article:has-text('bob was asked') >> text=Dismiss");
await page.waitForSelector("#outcomes", { state: "hidden" });
await page.reload();
await live();
await seen("a.member", "alice");
expect(!(await page.isVisible("#outcomes")), "what was dismissed is there again");
await finish();
