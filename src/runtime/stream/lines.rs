//! Lines out of the bytes of a body (NDJSON), however they are cut into chunks.
//!
//! Never: a look into a line.

use std::mem;

use crate::runtime::Fault;

/// Longest line, in bytes; a whole answer may come as one.
const LINE_BYTES_MAX: usize = 1024 * 1024;

/// Reads lines.
#[derive(Debug, Default)]
pub(in crate::runtime) struct Lines {
    begun: Vec<u8>,
}

impl Lines {
    /// The lines that `chunk` completes; blank ones are left out.
    ///
    /// # Errors
    /// [`Fault::BodyTooLarge`] for a line that is too long.
    pub(in crate::runtime) fn push(&mut self, chunk: &[u8]) -> Result<Vec<Vec<u8>>, Fault> {
        let mut all = Vec::new();
        let mut rest = chunk;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(end);
            self.add(line)?;
            all.extend(self.taken());
            rest = after.get(1..).unwrap_or_default();
        }
        self.add(rest)?;
        Ok(all)
    }

    /// The line that the end of the bytes leaves, whole or not.
    pub(in crate::runtime) fn end(&mut self) -> Option<Vec<u8>> {
        self.taken()
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if self.begun.len() + bytes.len() > LINE_BYTES_MAX {
            let cap = LINE_BYTES_MAX;
            return Err(Fault::BodyTooLarge { cap });
        }
        self.begun.extend_from_slice(bytes);
        Ok(())
    }

    fn taken(&mut self) -> Option<Vec<u8>> {
        let line = mem::take(&mut self.begun);
        let line = line.trim_ascii();
        let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        (!line.is_empty()).then(|| line.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read<'c>(chunks: impl IntoIterator<Item = &'c [u8]>) -> (Vec<Vec<u8>>, Option<Vec<u8>>) {
        let mut lines = Lines::default();
        let pushed = chunks.into_iter().map(|it| lines.push(it).expect("short"));
        let all = pushed.collect::<Vec<_>>().concat();
        (all, lines.end())
    }

    #[test]
    fn a_line_ends_with_lf_or_crlf_and_the_last_one_with_the_bytes() {
        let (lines, last) = read([&b"\xef\xbb\xbf{1}\r\n\n{2}\n \n{3"[..]]);
        assert_eq!(lines, [b"{1}", b"{2}"]);
        assert_eq!(last.as_deref(), Some(&b"{3"[..]));
        assert_eq!(read([&b"{1}\n"[..]]).1, None);
    }

    #[test]
    fn a_line_longer_than_its_bound_is_a_fault() {
        let mut lines = Lines::default();
        let half = vec![b'x'; LINE_BYTES_MAX / 2 + 1];
        assert_eq!(lines.push(&half), Ok(vec![]));
        let cap = LINE_BYTES_MAX;
        assert_eq!(lines.push(&half), Err(Fault::BodyTooLarge { cap }));
    }

    proptest! {
        #[test]
        fn however_the_bytes_are_cut_the_lines_are_the_same(
            text in "[ab é\r\n]{0,60}",
            cuts in prop::collection::vec(1_usize..7, 1..40),
        ) {
            let whole = read([text.as_bytes()]);
            let mut rest = text.as_bytes();
            let mut cuts = cuts.iter().cycle();
            let chunks = std::iter::from_fn(|| {
                let (chunk, after) = rest.split_at(rest.len().min(*cuts.next()?));
                rest = after;
                (!chunk.is_empty()).then_some(chunk)
            });
            prop_assert_eq!(read(chunks), whole);
        }
    }
}
