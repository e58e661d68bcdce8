//! What a program says on its standard error, line by line in our log.
//!
//! Never waits for the log, and never lets a talkative program fill it: long lines are cut, and
//! lines beyond the rate are only counted.

use std::{borrow::Cow, time::Duration};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, BufReader},
    time::Instant,
};

/// Longest part of a line that is shown, in bytes.
const LINE_BYTES_MAX: usize = 2_000;
/// Most lines of one program that are shown in a [`WINDOW`].
const LINES_MAX: u32 = 50;
const WINDOW: Duration = Duration::from_secs(1);

/// Logs every line until the program closes the pipe.
pub(in crate::handler) async fn log(stderr: impl AsyncRead + Unpin) {
    let mut reader = BufReader::new(stderr);
    let mut line = Line::default();
    let mut rate = Rate::new(Instant::now());
    loop {
        let chunk = reader.fill_buf().await.unwrap_or_default();
        if chunk.is_empty() {
            break;
        }
        let piece = chunk.split(|byte| *byte == b'\n').next();
        let piece = piece.unwrap_or_default();
        let (ended, length) = (piece.len() < chunk.len(), piece.len());
        line.push(piece);
        reader.consume(length + usize::from(ended));
        if ended {
            show(&std::mem::take(&mut line), &mut rate);
        }
    }
    if !line.kept.is_empty() {
        show(&line, &mut rate);
    }
    tell_hidden(rate.hidden);
}

fn show(line: &Line, rate: &mut Rate) {
    match rate.next(Instant::now()) {
        Verdict::Show { hidden_before } => {
            tell_hidden(hidden_before);
            tracing::info!(line = %line.text(), cut = line.cut, "the program says");
        }
        Verdict::Hide => {}
    }
}

fn tell_hidden(lines: u64) {
    if lines > 0 {
        tracing::warn!(
            lines,
            "the program says more than {LINES_MAX} lines a second; not shown"
        );
    }
}

/// The beginning of a line.
#[derive(Debug, Default)]
struct Line {
    kept: Vec<u8>,
    cut: bool,
}

impl Line {
    fn push(&mut self, piece: &[u8]) {
        let room = LINE_BYTES_MAX.saturating_sub(self.kept.len());
        self.kept.extend(piece.iter().take(room));
        self.cut |= piece.len() > room;
    }

    fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.kept.trim_ascii_end())
    }
}

/// Whether the next line is shown.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Show {
        /// So many were not, since the last that was.
        hidden_before: u64,
    },
    Hide,
}

/// How many lines were shown in the present window.
#[derive(Debug)]
struct Rate {
    since: Instant,
    shown: u32,
    hidden: u64,
}

impl Rate {
    fn new(now: Instant) -> Self {
        Self {
            since: now,
            shown: 0,
            hidden: 0,
        }
    }

    fn next(&mut self, now: Instant) -> Verdict {
        if now.duration_since(self.since) >= WINDOW {
            (self.since, self.shown) = (now, 0);
        }
        if self.shown == LINES_MAX {
            self.hidden += 1;
            return Verdict::Hide;
        }
        self.shown += 1;
        let hidden_before = std::mem::take(&mut self.hidden);
        Verdict::Show { hidden_before }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_rate_are_counted_and_told_with_the_next_one() {
        let start = Instant::now();
        let mut rate = Rate::new(start);
        for _ in 0..LINES_MAX {
            assert_eq!(rate.next(start), Verdict::Show { hidden_before: 0 });
        }
        assert_eq!(rate.next(start), Verdict::Hide);
        assert_eq!(rate.next(start), Verdict::Hide);
        let later = start + WINDOW;
        assert_eq!(rate.next(later), Verdict::Show { hidden_before: 2 });
        assert_eq!(rate.next(later), Verdict::Show { hidden_before: 0 });
    }

    #[test]
    fn a_line_keeps_its_beginning_and_says_that_it_was_cut() {
        let mut line = Line::default();
        line.push(&[b'x'; LINE_BYTES_MAX]);
        assert!(!line.cut);
        line.push(b"y");
        assert!(line.cut);
        assert_eq!(line.text(), "x".repeat(LINE_BYTES_MAX));
    }
}
