// HMAC with SHA-256, for pages of other machines: browsers keep their own from pages that are not encrypted.

const BLOCK = 64;
const primes = [];
for (let number = 2; primes.length < 64; number += 1) if (primes.every((prime) => number % prime)) primes.push(number);
const fraction = (number) => ((number - Math.floor(number)) * 2 ** 32) | 0;
const ROUNDS = primes.map((prime) => fraction(Math.cbrt(prime)));
const START = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
const turn = (word, by) => (word >>> by) | (word << (32 - by));

function mix(sums, words) {
  let [a, b, c, d, e, f, g, h] = sums;
  for (let at = 0; at < 64; at += 1) {
    if (at >= 16) {
      const [near, far] = [words[at - 15], words[at - 2]];
      words[at] = (words[at - 16] + words[at - 7] + (turn(near, 7) ^ turn(near, 18) ^ (near >>> 3)) + (turn(far, 17) ^ turn(far, 19) ^ (far >>> 10))) | 0;
    }
    const first = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + ROUNDS[at] + words[at]) | 0;
    const second = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [a, b, c, d, e, f, g, h] = [(first + second) | 0, a, b, c, (d + first) | 0, e, f, g];
  }
  return [a, b, c, d, e, f, g, h].map((word, at) => (word + sums[at]) | 0);
}

function sha256(bytes) {
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / BLOCK) * BLOCK);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 4, bytes.length * 8);
  let sums = START;
  for (let block = 0; block < padded.length; block += BLOCK) {
    sums = mix(sums, Array.from({ length: 16 }, (_, at) => view.getInt32(block + at * 4)));
  }
  const out = new DataView(new ArrayBuffer(32));
  sums.forEach((word, at) => out.setInt32(at * 4, word));
  return new Uint8Array(out.buffer);
}

const join = (...parts) => Uint8Array.from(parts.flatMap((part) => [...part]));

// The key is as long as a block, or shorter.
export function hmac(key, bytes) {
  const padded = new Uint8Array(BLOCK);
  padded.set(key);
  const inner = sha256(join(padded.map((byte) => byte ^ 0x36), bytes));
  return sha256(join(padded.map((byte) => byte ^ 0x5c), inner));
}
