//! What the demo shows: what was done, when, and whether it came out as it must.
//!
//! Owns the tally. Never: a judgement; it is told what is right.

use tokio::time::Instant;

use crate::{
    cli::dev::screen::{Colour, Screen},
    dev::say::Say,
};

/// The demo as it is read.
#[derive(Debug)]
pub(super) struct Report {
    screen: Screen,
    begun: Instant,
    parts: u32,
    right: u32,
    wrong: u32,
}

impl Report {
    /// An empty one; its clock begins to run.
    pub(super) fn new(screen: Screen) -> Self {
        Self {
            screen,
            begun: Instant::now(),
            parts: 0,
            right: 0,
            wrong: 0,
        }
    }

    /// Begins a part.
    pub(super) fn part(&mut self, title: &str) {
        if self.parts > 0 {
            self.screen.line("");
        }
        self.parts += 1;
        self.screen.line(&self.screen.paint(Colour::Cyan, title));
    }

    /// Something came out as it must.
    pub(super) fn right(&mut self, what: &str) {
        self.right += 1;
        self.timed(&self.screen.paint(Colour::Green, "ok   "), what);
    }

    /// Something did not come out as it must.
    pub(super) fn wrong(&mut self, what: &str) {
        self.wrong += 1;
        self.timed(&self.screen.paint(Colour::Red, "WRONG"), what);
    }

    /// More about what was just said, in one line or several.
    pub(super) fn detail(&self, text: &str) {
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            self.screen.line(&format!("{:16}{line}", ""));
        }
    }

    /// A line to be typed.
    pub(super) fn command(&self, line: &str) {
        let prompt = self.screen.paint(Colour::Faint, "$");
        self.screen.line(&format!("  {prompt} {line}"));
    }

    /// The last word; whether everything came out as it must.
    pub(super) fn end(&self) -> bool {
        let took = self.begun.elapsed();
        let (colour, verdict) = match (self.right, self.wrong) {
            (right, 0) => (Colour::Green, format!("all {right} outcomes are right")),
            (right, wrong) => {
                let all = right + wrong;
                (Colour::Red, format!("{wrong} of {all} outcomes are WRONG"))
            }
        };
        let verdict = self.screen.paint(colour, &verdict);
        self.screen.line("");
        self.screen.line(&format!("{verdict} after {took:.1?}"));
        self.wrong == 0
    }

    fn timed(&self, mark: &str, what: &str) {
        let at = self.begun.elapsed().as_secs_f64();
        self.screen.line(&format!("{at:6.1} s  {mark} {what}"));
    }
}

impl Say for Report {
    fn say(&self, line: &str) {
        self.timed("     ", line);
    }
}
