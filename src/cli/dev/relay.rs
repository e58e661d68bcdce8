//! Passes on what child processes write, line by line.
//!
//! Owns no process. A line has a bound: a longer one is shown in pieces.

use std::{
    io::{self, SeekFrom},
    path::Path,
    time::Duration,
};

use tokio::{
    fs::File,
    io::{
        AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncSeekExt as _,
        BufReader,
    },
    time::sleep,
};

use crate::dev::say::Say;

/// The longest piece of a line that is shown at once, in bytes.
const LINE_MAX: usize = 64 * 1024;
/// How often a log file is looked at for more.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Says each line of `pipe` until it ends.
pub(super) async fn relay(pipe: impl AsyncRead + Unpin, to: &dyn Say) {
    let mut lines = Lines::new(BufReader::new(pipe));
    // A pipe that cannot be read has ended.
    while let Ok(true) = lines.advance(to).await {}
    lines.say_rest(to);
}

/// Says each line that is appended to `file` from now on, for as long as it can be read.
pub(super) async fn follow(file: &Path, to: &dyn Say) {
    if let Err(error) = follow_on(file, to).await {
        to.say(&format!(
            "{} is not shown any further: {error}",
            file.display()
        ));
    }
}

async fn follow_on(file: &Path, to: &dyn Say) -> io::Result<()> {
    let mut file = File::open(file).await?;
    file.seek(SeekFrom::End(0)).await?;
    let mut lines = Lines::new(BufReader::new(file));
    loop {
        while lines.advance(to).await? {}
        sleep(LOOK_EVERY).await;
    }
}

struct Lines<R> {
    reader: R,
    /// What has come of a line that is not complete.
    begun: Vec<u8>,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    const fn new(reader: R) -> Self {
        Self {
            reader,
            begun: Vec::new(),
        }
    }

    /// Reads on; says the line once it is complete. False when there is nothing more for now.
    async fn advance(&mut self, to: &dyn Say) -> io::Result<bool> {
        let room = LINE_MAX.saturating_sub(self.begun.len());
        let mut piece = (&mut self.reader).take(u64::try_from(room).unwrap_or(u64::MAX));
        if piece.read_until(b'\n', &mut self.begun).await? == 0 {
            return Ok(false);
        }
        if self.begun.ends_with(b"\n") || self.begun.len() >= LINE_MAX {
            self.say_rest(to);
        }
        Ok(true)
    }

    fn say_rest(&mut self, to: &dyn Say) {
        let text = String::from_utf8_lossy(&self.begun);
        let line = text.trim_end();
        if !line.is_empty() {
            to.say(line);
        }
        self.begun.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[tokio::test]
    async fn lines_come_whole_and_one_without_an_end_in_pieces() {
        let said = Mutex::new(Vec::new());
        let say = |line: &str| said.lock().expect("said").push(line.to_owned());
        let endless = "x".repeat(LINE_MAX + 3);
        let written = format!("one\n\ntwo\r\n{endless}");

        relay(written.as_bytes(), &say).await;

        let said = said.into_inner().expect("said");
        assert_eq!(said, ["one", "two", &endless[..LINE_MAX], "xxx"]);
    }
}
