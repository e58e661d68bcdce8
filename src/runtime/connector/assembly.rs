//! A streamed body becomes deltas, and in the end the draft that a whole body would have become.
//!
//! Never: I/O; whoever has the body pushes its bytes.

use crate::runtime::{
    Fault,
    contract::Draft,
    fault::ConnectionFault,
    stream::{
        Delta,
        events::{Events, Last},
        lines::Lines,
    },
};

/// One provider's way to put an answer together.
pub(super) trait Assembler {
    /// Takes one frame of the body in; what it adds to the answer.
    ///
    /// # Errors
    /// [`Fault::Contract`] when it is no JSON object, the server's own fault when it is an error.
    fn take(&mut self, frame: &[u8]) -> Result<Vec<Delta>, Fault>;

    /// Whether nothing more is expected.
    fn is_over(&self) -> bool;

    /// Whether the model has stopped.
    fn has_ended(&self) -> bool;

    /// Whether a body that breaks now takes nothing away from the answer.
    fn is_whole(&self) -> bool;

    /// The answer, unchecked.
    ///
    /// # Errors
    /// The fault that the answer tells of.
    fn draft(self) -> Result<Draft, Fault>;
}

/// How a body is cut into frames.
pub(super) trait Frames {
    /// The frames that `chunk` completes.
    ///
    /// # Errors
    /// [`Fault::BodyTooLarge`] for a frame that is too long.
    fn push(&mut self, chunk: &[u8]) -> Result<Vec<Vec<u8>>, Fault>;

    /// What the end of the bytes leaves.
    ///
    /// # Errors
    /// As [`Frames::push`].
    fn end(&mut self) -> Result<Last, Fault>;
}

impl Frames for Events {
    fn push(&mut self, chunk: &[u8]) -> Result<Vec<Vec<u8>>, Fault> {
        Self::push(self, chunk)
    }

    fn end(&mut self) -> Result<Last, Fault> {
        Self::end(self)
    }
}

impl Frames for Lines {
    fn push(&mut self, chunk: &[u8]) -> Result<Vec<Vec<u8>>, Fault> {
        Self::push(self, chunk)
    }

    fn end(&mut self) -> Result<Last, Fault> {
        Ok(
            Self::end(self).map_or(Last::Nothing, |line| match line.first() {
                Some(b'{') => Last::Frame(line),
                // No line of an answer, whole or not.
                Some(_) | None => Last::Body(line),
            }),
        )
    }
}

/// A body on its way to a draft.
pub(super) struct Assembly<F, A> {
    frames: F,
    assembler: A,
    /// A frame was read.
    begun: bool,
}

impl<F: Frames, A: Assembler> Assembly<F, A> {
    pub(super) const fn new(frames: F, assembler: A) -> Self {
        Self {
            frames,
            assembler,
            begun: false,
        }
    }

    /// What the next bytes of the body add to the answer.
    ///
    /// # Errors
    /// A frame that is too long, no JSON object, or an error of the server.
    pub(super) fn push(&mut self, chunk: &[u8]) -> Result<Vec<Delta>, Fault> {
        let mut deltas = Vec::new();
        for frame in self.frames.push(chunk)? {
            if !self.assembler.is_over() {
                deltas.extend(self.take(&frame)?);
            }
        }
        Ok(deltas)
    }

    /// A frame that cannot be read behind others that could was spoilt on its way: the answer is
    /// there, and is asked for again. Where none could be read there is no answer.
    fn take(&mut self, frame: &[u8]) -> Result<Vec<Delta>, Fault> {
        match self.assembler.take(frame) {
            Err(Fault::Contract(_)) if self.begun => Err(cut("in a frame that is no JSON object")),
            taken => {
                self.begun = true;
                taken
            }
        }
    }

    /// Whether nothing more is needed, or expected.
    pub(super) fn is_settled(&self) -> bool {
        self.assembler.is_over() || self.assembler.is_whole()
    }

    /// What the end of the body adds.
    ///
    /// # Errors
    /// As [`Assembly::push`]; a frame that was cut short is a body that was cut short.
    pub(super) fn end(&mut self) -> Result<Vec<Delta>, Fault> {
        match self.frames.end()? {
            // Whatever stands behind the end is none of the answer.
            _ if self.assembler.is_over() => Ok(Vec::new()),
            Last::Nothing => Ok(Vec::new()),
            Last::Body(body) => self.assembler.take(&body),
            Last::Frame(frame) => match self.assembler.take(&frame) {
                Err(Fault::Contract(_)) => Err(cut("in the middle of a frame")),
                taken => taken,
            },
        }
    }

    /// The answer of a body that ended, or that `broke`.
    ///
    /// # Errors
    /// The answer is not whole, or tells of a fault.
    pub(super) fn draft(self, broke: Option<Fault>) -> Result<Draft, Fault> {
        match broke {
            Some(fault) if !self.assembler.is_whole() => Err(fault),
            None if !self.assembler.has_ended() => Err(cut("before it was finished")),
            Some(_) | None => self.assembler.draft(),
        }
    }
}

fn cut(at: &str) -> Fault {
    Fault::Connection {
        what: ConnectionFault::Cut,
        detail: format!("the answer ended {at}").into(),
    }
}

/// For tests: what a body that comes in these chunks says as it comes, and in the end.
#[cfg(test)]
pub(super) fn assembled<'c>(
    frames: impl Frames,
    assembler: impl Assembler,
    chunks: impl IntoIterator<Item = &'c [u8]>,
) -> (Vec<Delta>, Result<Draft, Fault>) {
    let mut assembly = Assembly::new(frames, assembler);
    let mut said = Vec::new();
    let mut add = |deltas: Result<Vec<Delta>, Fault>| deltas.map(|it| said.extend(it));
    for chunk in chunks {
        if let Err(fault) = add(assembly.push(chunk)) {
            return (said, Err(fault));
        }
    }
    match add(assembly.end()) {
        Ok(()) => (said, assembly.draft(None)),
        Err(fault) => (said, Err(fault)),
    }
}
