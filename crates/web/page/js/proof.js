// The key of the session, and what is made of it. The key is sent to nobody: any program of this machine can take
// the port while the server is down. Where browsers allow it, not even the page can read the key.

import { hmac } from "./sha256.js";

const NAME = "team-lead";
const STORE = "keys";
const subtle = globalThis.crypto?.subtle;
const bytes = (text) => new TextEncoder().encode(text);
const hex = (from) => [...from].map((byte) => byte.toString(16).padStart(2, "0")).join("");

const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

async function storage(mode) {
  const opening = indexedDB.open(NAME, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
  return (await done(opening)).transaction(STORE, mode).objectStore(STORE);
}

export const loadKey = async () => (await done((await storage("readonly")).get(NAME))) ?? null;
export const dropKey = async () => done((await storage("readwrite")).delete(NAME));

export async function keepKey(text) {
  const key = subtle ? await subtle.importKey("raw", bytes(text), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]) : text;
  await done((await storage("readwrite")).put(key, NAME));
  return key;
}

export async function sign(key, text) {
  const signed = typeof key === "string" ? hmac(bytes(key), bytes(text)) : new Uint8Array(await subtle.sign("HMAC", key, bytes(text)));
  return hex(signed);
}

// A number that is used once.
export const nonce = () => hex(crypto.getRandomValues(new Uint8Array(16)));
