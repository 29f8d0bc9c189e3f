// A text as a picture that phones read: a QR code of version 5 with the lowest correction, which holds 106 bytes.

import { s } from "./dom.js";

const [SIZE, DATA, CHECK, MOST] = [37, 108, 26, 106];
// Where the small square is, and the 15 bits that say "lowest correction, mask 0".
const [ALIGNED, FORMAT] = [30, 0x77c4];

function multiply(left, right) {
  let product = 0;
  for (let bit = 7; bit >= 0; bit -= 1) {
    product = (product << 1) ^ ((product >> 7) * 0x11d);
    product ^= ((right >> bit) & 1) * left;
  }
  return product;
}

// The remainder of the data by the polynomial whose roots are the first powers of 2.
function checkBytes(data) {
  let divisor = [...new Array(CHECK - 1).fill(0), 1];
  let root = 1;
  for (let at = 0; at < CHECK; at += 1) {
    divisor = divisor.map((factor, place) => multiply(factor, root) ^ (divisor[place + 1] ?? 0));
    root = multiply(root, 2);
  }
  const rest = new Array(CHECK).fill(0);
  for (const byte of data) {
    const factor = byte ^ rest.shift();
    rest.push(0);
    divisor.forEach((coefficient, place) => { rest[place] ^= multiply(coefficient, factor); });
  }
  return rest;
}

function codewords(bytes) {
  const bits = [..."0100", ...bytes.length.toString(2).padStart(8, "0"), ...[...bytes].flatMap((byte) => [...byte.toString(2).padStart(8, "0")]), ..."0000"];
  const data = [];
  for (let at = 0; at < bits.length; at += 8) data.push(parseInt(bits.slice(at, at + 8).join(""), 2));
  for (let pad = 0xec; data.length < DATA; pad ^= 0xec ^ 0x11) data.push(pad);
  return [...data, ...checkBytes(data)];
}

// Which places are dark, row by row; `null` for a text that is too long.
export function matrix(text) {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > MOST) return null;
  const dark = Array.from({ length: SIZE }, () => new Array(SIZE).fill(null));
  const set = (x, y, is) => { if (dark[y]?.[x] !== undefined) dark[y][x] = is; };
  for (let at = 0; at < SIZE; at += 1) { set(6, at, at % 2 === 0); set(at, 6, at % 2 === 0); }
  const square = (x, y, radius, isDark) => {
    for (let dy = -radius; dy <= radius; dy += 1) {
      for (let dx = -radius; dx <= radius; dx += 1) set(x + dx, y + dy, isDark(Math.max(Math.abs(dx), Math.abs(dy))));
    }
  };
  for (const [x, y] of [[3, 3], [SIZE - 4, 3], [3, SIZE - 4]]) square(x, y, 4, (ring) => ring !== 2 && ring !== 4);
  square(ALIGNED, ALIGNED, 2, (ring) => ring !== 1);
  for (let at = 0; at < 15; at += 1) {
    const bit = ((FORMAT >> at) & 1) === 1;
    if (at < 6) set(8, at, bit);
    else if (at < 8) set(8, at + 1, bit);
    else set(at === 8 ? 7 : 14 - at, 8, bit);
    if (at < 8) set(SIZE - 1 - at, 8, bit);
    else set(8, SIZE - 15 + at, bit);
  }
  set(8, SIZE - 8, true);
  const isFree = dark.map((row) => row.map((is) => is === null));
  const words = codewords(bytes);
  let next = 0;
  for (let right = SIZE - 1; right >= 1; right -= right === 8 ? 3 : 2) {
    for (let step = 0; step < SIZE; step += 1) {
      const y = ((right + 1) & 2) === 0 ? SIZE - 1 - step : step;
      for (const x of [right, right - 1]) {
        if (!isFree[y][x]) continue;
        const bit = ((words[next >> 3] ?? 0) >> (7 - (next & 7))) & 1;
        next += 1;
        dark[y][x] = (bit === 1) !== ((x + y) % 2 === 0);
      }
    }
  }
  return dark;
}

export function picture(text, label) {
  const rows = matrix(text);
  if (!rows) return "";
  const squares = rows.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x + 4} ${y + 4}h1v1h-1z` : "")));
  const side = SIZE + 8;
  return s("svg", { viewBox: `0 0 ${side} ${side}`, role: "img", "aria-label": label, "shape-rendering": "crispEdges" },
    s("rect", { width: side, height: side }), s("path", { d: squares.join("") }));
}
