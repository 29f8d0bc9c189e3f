//! Secrets of 256 bits, and what is kept of them.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};

/// A secret as text: 64 hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// What is stored of a secret: enough to recognise it, and nothing that opens anything.
pub(crate) fn hash(secret: &str) -> String {
    hex(&Sha256::digest(secret.as_bytes()))
}

/// Whether two texts are the same, in a time that does not tell where they differ.
pub(crate) fn is_same(left: &str, right: &str) -> bool {
    let differences = left.bytes().zip(right.bytes());
    let differences = differences.fold(0, |all, (left, right)| all | (left ^ right));
    left.len() == right.len() && differences == 0
}

/// A hash that only whoever has the key can make, in hexadecimal. Keys are as long as a block of the hash.
pub(crate) fn keyed_hash(key: &str, text: &str) -> String {
    let mut block = [0; 64];
    for (place, byte) in block.iter_mut().zip(key.bytes()) {
        *place = byte;
    }
    let mut mac = Hmac::<Sha256>::new(&block.into());
    mac.update(text.as_bytes());
    hex(&mac.finalize().into_bytes())
}

impl Secret {
    pub(crate) const fn of(text: String) -> Self {
        Self(text)
    }

    pub(crate) fn random() -> io::Result<Self> {
        random_hex(32).map(Self)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Random bytes of the system, in hexadecimal.
pub(crate) fn random_hex(bytes: usize) -> io::Result<String> {
    let mut random = vec![0; bytes];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(hex(&random))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
