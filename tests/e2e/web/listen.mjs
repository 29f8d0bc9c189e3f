// The page for other machines; run by listen.rs.

import { accessible, expect, expected, finish, go, live, newBrowser, page, setServed, tell, url } from "./drive.mjs";

// Browsers say so of every page that is not encrypted.
expected.push("Cross-Origin-Opener-Policy");
const { hostname, origin } = new URL(url);
expect(!hostname.startsWith("127."), `${hostname} is this machine`);

// Without the token, or with a wrong one, there is nothing.
const stranger = await newBrowser();
setServed(false);
for (const address of [`${origin}/`, `${origin}/#${"0".repeat(64)}`]) {
  await stranger.page.goto("about:blank");
  await stranger.page.goto(address);
  await stranger.page.waitForSelector("text=Not logged in");
  expect(!(await stranger.page.textContent("body")).includes("alice"), "a stranger sees the team");
}
setServed(true);

// With it there is the team, and a warning.
await page.goto(url);
await live();
await page.waitForSelector("a.member:has-text('alice')");
expect(!(await page.evaluate(() => isSecureContext)), "the browser takes this for a page of this machine");
expect(await page.isVisible("#plain"), "the page does not say that it is not encrypted");
await go("#/sessions");
await page.waitForSelector("main .warn:has-text('not encrypted')");
await accessible("sessions, not encrypted");

// The sessions are listed: this browser, and the one that the test has.
const rows = page.locator("main tbody tr");
await page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 2);
expect(await rows.filter({ hasText: "(this browser)" }).count() === 1, "no session is this browser's");
await tell("the other one is in");
await rows.filter({ hasNotText: "(this browser)" }).locator("text=End").click();
await page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 1);
await tell("the other one is out");

// A link for one more, once; and its end while its page is open.
await page.click("text=Link for another browser");
const link = await page.textContent(".link");
expect(link.startsWith(origin), `the link leads to ${link}`);
// A phone takes a picture of it. This one was made by another program, and read by a third.
const REFERENCE =
  "1fc4b3337f 1048a6e241 175212035d 174953335d 17497b335d 1047bb7f41 1fd555557f 12db8a00 1df18cccc4 " +
  "93b84cce7 1767d59199 1eb19fcefb f6e88cc60 eaa884c65 1bd4c44869 32afca8ca 13dd88cd69 1523884c69 " +
  "1ad31d587f ab1b8ed6a 1eda888f6b 98688846d 1d780c540f 682ced9da 1149889c4b b8b889469 167f91c4d3 " +
  "8b18abeba 16564899f0 1e089917 1fd081d753 105a2dff18 17510999fa 174f899898 1753580d9f 105deb89ba " +
  "1fd24d99bb";
const made = await page.evaluate(async (text) => {
  const { matrix } = await import("/js/qr.js");
  return [matrix(text).map((row) => parseInt(row.map(Number).join(""), 2).toString(16)).join(" "), matrix(text.repeat(2))];
}, `http://192.168.178.23:43117/#${"0123456789abcdef".repeat(4)}`);
expect(made[0] === REFERENCE && made[1] === null, `the picture is ${made[0]}`);
await page.waitForSelector(".qr svg[role=img] path");
await accessible("a link");
const second = await newBrowser();
await second.page.goto(link);
await second.page.waitForSelector("body[data-connection=live]");
setServed(false);
await stranger.page.goto("about:blank");
await stranger.page.goto(link);
await stranger.page.waitForSelector("text=Not logged in");
await go("#/");
await go("#/sessions");
await rows.filter({ hasNotText: "(this browser)" }).locator("text=End").click();
await second.page.waitForSelector("body[data-connection=out]");
expect(!(await second.page.textContent("body")).includes("alice"), "a page without a session shows the team");

// This browser logs itself out.
await rows.filter({ hasText: "(this browser)" }).locator("text=Log out").click();
await page.waitForSelector("text=Not logged in");
await finish();
