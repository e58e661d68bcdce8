//! Shows an answer while it is being written, and waits for its result.
//!
//! A person reads the answer as it comes and what the model thinks dimly beside it; a program gets
//! one JSON a line, then the result. Never: the same words twice.

use std::{io, pin::pin};

use indicatif::ProgressBar;

use super::{
    failure::Failure,
    output::{Output, Reader},
    progress,
    session::explain,
    show,
};
use crate::{
    client::{Client, ClientFault, Exchange, Heard, Hearing, Pending},
    config::Gathered,
    contract::{InvocationResult, PurutoName, Says, TokenMessage},
    store::Records,
};

/// What stands before an answer that starts again.
const AGAIN: &str = "-- the answer starts again --";
/// What stands where some of an answer was not heard.
const MISSED: &str = "-- some of the answer was not heard; all of it follows --";

/// How much of an answer has been shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// Nothing of it, or not all.
    Partly,
    /// All of it: only how it went is left to say.
    Wholly,
}

/// Shows what is heard until the result is there.
pub(super) async fn wait<E: Exchange, R: Records>(
    client: &Client<E, R>,
    (pending, mut hearing): (Pending<E>, Hearing<E>),
    target: &PurutoName,
    (output, reader): (&Output, Reader),
    gathered: &Gathered,
) -> Result<(InvocationResult, Shown), Failure> {
    let spinner = progress::spinner(reader);
    let mut screen = Screen::new(output, reader, spinner.clone());
    let mut result = pin!(progress::wait(client, pending, target, spinner.as_ref()));
    loop {
        tokio::select! {
            biased;
            heard = hearing.next() => screen.show(heard)?,
            result = &mut result => {
                let result = result.map_err(|fault: ClientFault| explain(gathered, fault))?;
                return Ok((result, screen.end()?));
            }
        }
    }
}

/// What stands on the screen.
struct Screen<'o> {
    output: &'o Output,
    reader: Reader,
    /// Turns until there is something to read.
    spinner: Option<ProgressBar>,
    /// Something of the answer, which begins a line.
    written: bool,
    /// Something of what the model thinks, likewise.
    thought: bool,
    missed: bool,
    whole: bool,
}

impl<'o> Screen<'o> {
    const fn new(output: &'o Output, reader: Reader, spinner: Option<ProgressBar>) -> Self {
        Self {
            output,
            reader,
            spinner,
            written: false,
            thought: false,
            missed: false,
            whole: false,
        }
    }

    fn show(&mut self, heard: Heard) -> io::Result<()> {
        if let Some(spinner) = self.spinner.take() {
            spinner.finish_and_clear();
        }
        match (heard, self.reader) {
            (Heard::Says(message), Reader::Program) => self
                .output
                .raw(&[message.to_json(), b"\n".to_vec()].concat()),
            // The index shows it.
            (Heard::Gap, Reader::Program) => Ok(()),
            (Heard::Says(TokenMessage { says, .. }), Reader::Person) => self.read_out(&says),
            (Heard::Gap, Reader::Person) => {
                self.missed = true;
                self.interrupt(MISSED)
            }
        }
    }

    fn read_out(&mut self, says: &Says) -> io::Result<()> {
        match says {
            Says::Content(text) => {
                self.end_thought();
                self.written = true;
                self.output.raw(show::plain(text).as_bytes())
            }
            Says::Reasoning(text) => {
                self.end_line()?;
                self.thought = true;
                self.output.dim(&show::plain(text));
                Ok(())
            }
            Says::Restart(_) => {
                self.end_thought();
                self.missed = false;
                if self.written {
                    self.interrupt(AGAIN)
                } else {
                    Ok(())
                }
            }
            Says::Done(_) => {
                self.whole = !self.missed && self.written;
                Ok(())
            }
        }
    }

    fn interrupt(&mut self, words: &str) -> io::Result<()> {
        self.end_thought();
        self.end_line()?;
        self.output.error(words);
        Ok(())
    }

    /// What the model thinks and what it says stand on lines of their own.
    fn end_thought(&mut self) {
        if std::mem::take(&mut self.thought) {
            self.output.dim("\n");
        }
    }

    fn end_line(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.written) {
            self.output.raw(b"\n")?;
        }
        Ok(())
    }

    fn end(mut self) -> io::Result<Shown> {
        if self.reader == Reader::Person {
            self.end_thought();
            self.end_line()?;
        }
        Ok(if self.whole {
            Shown::Wholly
        } else {
            Shown::Partly
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, PoisonError};

    use super::*;
    use crate::contract::True;

    /// Both streams of a terminal, in the order in which they were written.
    #[derive(Clone, Default)]
    struct Terminal(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Terminal {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn shown(reader: Reader, heard: impl IntoIterator<Item = Heard>) -> (String, Shown) {
        let terminal = Terminal::default();
        let ends = [terminal.clone(), terminal.clone()];
        let [stdout, stderr] = ends.map(|it| Box::new(it) as Box<dyn io::Write + Send>);
        let output = Output::new(stdout, stderr, reader);
        let mut screen = Screen::new(&output, reader, None);
        for heard in heard {
            screen.show(heard).expect("written");
        }
        let shown = screen.end().expect("written");
        let bytes = terminal.0.lock().unwrap_or_else(PoisonError::into_inner);
        (String::from_utf8_lossy(&bytes).into_owned(), shown)
    }

    fn all(says: &[Says]) -> Vec<Heard> {
        let numbered = (0..).zip(says.iter().cloned());
        numbered
            .map(|(index, says)| Heard::Says(TokenMessage { index, says }))
            .collect()
    }

    fn content(text: &str) -> Says {
        Says::Content(text.to_owned())
    }

    #[test]
    fn a_person_reads_the_answer_as_it_comes_and_once() {
        let says = [
            Says::Reasoning("hm".to_owned()),
            content("Hel\u{1b}"),
            content("lo"),
            Says::Done(True),
        ];
        let (text, shown) = shown(Reader::Person, all(&says));
        assert_eq!(text, "\u{1b}[2mhm\u{1b}[0m\u{1b}[2m\n\u{1b}[0mHello\n");
        assert_eq!(shown, Shown::Wholly);
    }

    #[test]
    fn a_person_is_told_that_an_answer_starts_again() {
        let restart = Says::Restart(True);
        let says = [
            restart.clone(),
            content("Hal"),
            restart,
            content("Hello"),
            Says::Done(True),
        ];
        let (text, shown) = shown(Reader::Person, all(&says));
        assert_eq!(text, format!("Hal\n{AGAIN}\nHello\n"));
        assert_eq!(shown, Shown::Wholly);
    }

    #[test]
    fn an_answer_that_was_not_heard_to_its_end_is_shown_with_its_result() {
        let mut heard = all(&[content("Hel")]);
        assert_eq!(shown(Reader::Person, heard.clone()).1, Shown::Partly);
        heard.push(Heard::Gap);
        let (text, partly) = shown(Reader::Person, heard);
        assert_eq!((text, partly), (format!("Hel\n{MISSED}\n"), Shown::Partly));
        assert_eq!(shown(Reader::Person, []), (String::new(), Shown::Partly));
    }

    #[test]
    fn a_program_reads_one_json_a_line() {
        let says = [content("Hel"), Says::Restart(True), Says::Done(True)];
        let (text, _) = shown(Reader::Program, all(&says));
        let lines = [
            r#"{"index":0,"content":"Hel"}"#,
            r#"{"index":1,"restart":true}"#,
            r#"{"index":2,"done":true}"#,
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), lines);
    }
}
