//! The chunks of a streamed answer: OpenAI's, with MiniMax's ways to fail and to think among them.
//!
//! Never: a judgement of the answer; the output contract makes that.

use super::{code::Code, refusal, thoughts::Thoughts, wire};
use crate::runtime::{
    Fault,
    connector::{assembly::Assembler, fields::object_in, openai},
    contract::Draft,
    stream::Delta,
};

/// The answer as far as it has come.
#[derive(Default)]
pub(super) struct Chunks {
    chunks: openai::Chunks,
    thoughts: Thoughts,
}

impl Assembler for Chunks {
    fn take(&mut self, data: &[u8]) -> Result<Vec<Delta>, Fault> {
        if self.chunks.is_end(data) {
            return Ok(self.thoughts.rest());
        }
        let chunk = object_in(data)?;
        let cut = Code::in_base_resp(&chunk) == Some(Code::OUTPUT_SENSITIVE);
        if cut && (openai::has_choice(&chunk) || self.chunks.has_begun()) {
            // What is left of an answer that was cut is an answer.
            self.chunks.finish("content_filter");
        } else if let Some(fault) = refusal::under_success(&chunk) {
            return Err(fault);
        }
        let deltas = self.chunks.fold(chunk);
        let split = deltas.into_iter().flat_map(|it| self.thoughts.split(it));
        let mut deltas: Vec<Delta> = split.collect();
        if self.chunks.has_ended() {
            deltas.extend(self.thoughts.rest());
        }
        Ok(deltas)
    }

    fn is_over(&self) -> bool {
        self.chunks.is_over()
    }

    fn has_ended(&self) -> bool {
        self.chunks.has_ended()
    }

    fn is_whole(&self) -> bool {
        self.chunks.is_whole()
    }

    fn draft(self) -> Result<Draft, Fault> {
        wire::draft(self.chunks.into_response())
    }
}

#[cfg(test)]
mod tests;
