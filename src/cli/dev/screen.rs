//! Lines for a person: who says it in front, in colour on a terminal only.
//!
//! Owns standard output while it is used, a whole line at a time. What cannot be written, since
//! whoever read it is gone, is lost and no error: the processes behind it go on.

use std::{
    io::{self, IsTerminal as _, Write as _},
    sync::Arc,
};

use crate::{config::Environment, dev::say::Say};

/// How wide the column of names is.
const NAME_WIDTH: usize = 12;

/// A colour of the terminal's own palette.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Colour {
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
    /// Less bright than the rest.
    Faint,
}

impl Colour {
    const fn code(self) -> &'static str {
        match self {
            Self::Red => "31",
            Self::Green => "32",
            Self::Yellow => "33",
            Self::Blue => "34",
            Self::Magenta => "35",
            Self::Cyan => "36",
            Self::Faint => "2",
        }
    }
}

/// Where lines go. A clone shares it.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Screen {
    coloured: bool,
}

impl Screen {
    /// Standard output: in colour when it is a terminal and nobody asked for none.
    pub(in crate::cli) fn stdout(environment: &Environment) -> Self {
        let wanted = environment.get("NO_COLOR").is_none();
        Self {
            coloured: wanted && io::stdout().is_terminal(),
        }
    }

    /// Whether it shows colours.
    pub(in crate::cli) const fn is_coloured(&self) -> bool {
        self.coloured
    }

    /// Shows `text` as a line of its own.
    pub(in crate::cli) fn line(&self, text: &str) {
        drop(writeln!(io::stdout().lock(), "{text}"));
    }

    /// `text` in a colour, where there are colours.
    pub(in crate::cli) fn paint(&self, colour: Colour, text: &str) -> String {
        if self.coloured {
            format!("\u{1b}[{}m{text}\u{1b}[0m", colour.code())
        } else {
            text.to_owned()
        }
    }
}

/// Somebody whose lines are shown under a name. A clone speaks under the same one.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Voice {
    screen: Screen,
    prefix: Arc<str>,
}

impl Voice {
    /// The voice of `name`.
    pub(in crate::cli) fn new(screen: &Screen, name: &str, colour: Colour) -> Self {
        let prefix = screen.paint(colour, &format!("{name:<NAME_WIDTH$} |"));
        Self {
            screen: screen.clone(),
            prefix: prefix.into(),
        }
    }
}

impl Say for Voice {
    fn say(&self, line: &str) {
        self.screen.line(&format!("{} {line}", self.prefix));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_stand_on_a_terminal_only() {
        let plain = Screen { coloured: false };
        let coloured = Screen { coloured: true };
        assert_eq!(plain.paint(Colour::Green, "no"), "no");
        assert_eq!(coloured.paint(Colour::Green, "no"), "\u{1b}[32mno\u{1b}[0m");
        assert_eq!(
            &*Voice::new(&plain, "redis-server", Colour::Green).prefix,
            "redis-server |",
            "the longest name fits its column"
        );
    }
}
