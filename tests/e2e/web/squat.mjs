// Another program has the port while the server is down; run by squat.rs.

import { expect, finish, live, page, setServed, tell, url } from "./drive.mjs";

await page.goto(url);
await live();
const name = await page.textContent("#team-name");

// The key is in no storage that can be read, and the browser does not give it away.
const kept = await page.evaluate(async () => {
  const done = (request) => new Promise((resolve, reject) => { request.onsuccess = () => resolve(request.result); request.onerror = reject; });
  const database = await done(indexedDB.open("team-lead"));
  const key = await done(database.transaction("keys").objectStore("keys").get("team-lead"));
  const exported = await crypto.subtle.exportKey("raw", key).then(() => true, () => false);
  return { exported, texts: Object.keys(localStorage).length, cookie: document.cookie };
});
expect(!kept.exported && kept.texts === 0 && kept.cookie === "", `the key can be read: ${JSON.stringify(kept)}`);

setServed(false);
await tell("somebody takes the port");
await page.waitForSelector("body[data-connection=lost]");
await page.waitForSelector("#banner:has-text('not the server of this session')");
expect(await page.evaluate(() => document.getElementById("main").inert), "buttons can be pressed");
// What is sent although the connection is lost, as if it had been pressed just before.
const sent = await page.evaluate(async () => {
  const { post } = await import("/js/net.js");
  return post("/api/send", { to: "alice", text: "Hello." }).then(() => "believed", (error) => error.message);
});
expect(sent.includes("not the server"), `the page says: ${sent}`);
expect(await page.textContent("#team-name") === name, "the page shows what another program says");
await tell("the server comes back");
await live();
expect(await page.textContent("#team-name") === name, "the page shows another team");
expect(await page.locator("#banner").isHidden(), "the banner is still there");
// A new page of the same browser goes on with the session.
await page.reload();
await live();
await finish();
