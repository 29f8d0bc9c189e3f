// The page of another machine, for which browsers have no keys that a page cannot read; run by sessions.rs.

import { expect, finish, live, page, url } from "./drive.mjs";

await page.goto(url);
await live();
expect(await page.evaluate(() => globalThis.crypto.subtle === undefined), "this address is one that browsers trust");
await page.reload();
await live();
await page.waitForSelector("a.member:has-text('alice')");
await finish();
