//! Makes text from outside harmless in a log.
//!
//! Never: a change to text without control characters.

use std::fmt::{self, Write};

use tracing::field::Field;
use tracing_subscriber::fmt::format::Writer;

/// Whether a terminal or a reader of lines may take `c` for something else than text.
pub(super) const fn is_unsafe(c: char) -> bool {
    // C0, DEL and C1; then the two that some readers take for the end of a line.
    matches!(c, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}')
}

/// Passes text on with its control characters escaped, as Rust writes them: `\n`, `\u{1b}`.
pub(super) struct Escaped<'w, W>(pub(super) &'w mut W);

impl<W: Write> Write for Escaped<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for run in text.split_inclusive(is_unsafe) {
            let mut rest = run.chars();
            match rest.next_back() {
                Some(last) if is_unsafe(last) => {
                    write!(self.0, "{}{}", rest.as_str(), last.escape_default())?;
                }
                _ => self.0.write_str(run)?,
            }
        }
        Ok(())
    }
}

/// Writes one field of a line for people; the message stands without its name.
pub(super) fn field(to: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    let mut to = Escaped(to);
    match field.name() {
        "message" => write!(to, "{value:?}"),
        name => write!(to, "{name}={value:?}"),
    }
}
