//! Sizes as people write them: `100000`, `"256 KiB"`, `"4 MiB"`.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize, Serializer, de};

/// A number of bytes, from 1 to 1 GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSize(u32);

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const MAX: u64 = 1 << 30;
const EXPECTED: &str = "a size such as 100000, \"256 KiB\" or \"4 MiB\", from 1 byte to 1024 MiB";

impl ByteSize {
    /// So many bytes; at most 1 GiB, at least one.
    #[must_use]
    pub(super) const fn of(bytes: u32) -> Self {
        assert!(bytes >= 1 && bytes as u64 <= MAX);
        Self(bytes)
    }

    /// The number of bytes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.0 as usize
    }

    fn checked(bytes: u64) -> Option<Self> {
        let fits = (1..=MAX).contains(&bytes);
        fits.then(|| u32::try_from(bytes).ok().map(Self))?
    }
}

/// A text that is no [`ByteSize`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {EXPECTED}")]
pub struct InvalidByteSize;

impl FromStr for ByteSize {
    type Err = InvalidByteSize;

    fn from_str(raw: &str) -> Result<Self, Self::Err> {
        let raw = raw.trim();
        let (number, unit) = if let Some(number) = raw.strip_suffix("KiB") {
            (number, KIB)
        } else if let Some(number) = raw.strip_suffix("MiB") {
            (number, MIB)
        } else {
            (raw, 1)
        };
        let number: Option<u64> = number.trim_end().parse().ok();
        let bytes = number.and_then(|number| number.checked_mul(unit));
        bytes.and_then(Self::checked).ok_or(InvalidByteSize)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match u64::from(self.0) {
            bytes if bytes % MIB == 0 => write!(f, "{} MiB", bytes / MIB),
            bytes if bytes % KIB == 0 => write!(f, "{} KiB", bytes / KIB),
            bytes => bytes.fmt(f),
        }
    }
}

impl Serialize for ByteSize {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl de::Visitor<'_> for Visitor {
            type Value = ByteSize;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED)
            }

            fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<ByteSize, E> {
                let unfit = || E::invalid_value(de::Unexpected::Unsigned(bytes), &self);
                ByteSize::checked(bytes).ok_or_else(unfit)
            }

            fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<ByteSize, E> {
                let unfit = |_| E::invalid_value(de::Unexpected::Signed(bytes), &self);
                u64::try_from(bytes)
                    .map_err(unfit)
                    .and_then(|it| self.visit_u64(it))
            }

            fn visit_str<E: de::Error>(self, raw: &str) -> Result<ByteSize, E> {
                let unfit = |_| E::invalid_value(de::Unexpected::Str(raw), &self);
                raw.parse().map_err(unfit)
            }
        }

        from.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_a_number_or_has_a_unit_and_prints_as_it_is_read() {
        for (raw, bytes, shown) in [
            ("1", 1, "1"),
            ("100000", 100_000, "100000"),
            ("256 KiB", 262_144, "256 KiB"),
            ("4MiB", 4_194_304, "4 MiB"),
            ("1024 MiB", 1 << 30, "1024 MiB"),
        ] {
            let size: ByteSize = raw.parse().expect(raw);
            assert_eq!((size.bytes(), size.to_string()), (bytes, shown.to_owned()));
            assert_eq!(shown.parse(), Ok(size));
        }
        for raw in [
            "",
            "0",
            "-1",
            "4 MB",
            "1025 MiB",
            "MiB",
            "99999999999999999999 MiB",
        ] {
            assert_eq!(raw.parse::<ByteSize>(), Err(InvalidByteSize), "{raw}");
        }
    }
}
