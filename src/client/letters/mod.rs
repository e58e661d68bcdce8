//! Dead letters: found, replayed, removed.
//!
//! A replayed letter is removed once the broker has its request: what is left is what still needs
//! somebody. Never: a letter that is changed.

mod replay;

use std::{collections::VecDeque, num::NonZeroUsize};

pub use self::replay::{Demand, Refusal, Replay};
use super::{Client, ClientFault, Letters};
use crate::{
    broker::{BuriedLetter, DeadReason, NoDeadLetter, StoredMessage},
    clock::WallTime,
    contract::{CorrelationId, PurutoName, RequestId},
};

/// Which letters are meant: those that fit everything that is said.
#[derive(Clone, Debug, Default)]
pub struct LetterFilter {
    /// Who was asked.
    pub target: Option<PurutoName>,
    /// Why they are dead.
    pub reason: Option<DeadReason>,
    /// Buried then or later.
    pub since: Option<WallTime>,
    /// Buried earlier.
    pub before: Option<WallTime>,
    /// Of this request.
    pub request: Option<RequestId>,
    /// Of this chain.
    pub correlation: Option<CorrelationId>,
}

impl LetterFilter {
    /// The letters of a request.
    #[must_use]
    pub fn of_request(request: RequestId) -> Self {
        Self {
            request: Some(request),
            ..Self::default()
        }
    }

    fn takes(&self, buried: &BuriedLetter) -> bool {
        let letter = &buried.letter;
        is_asked_for(self.target.as_ref(), letter.target.as_ref())
            && is_asked_for(self.reason.as_ref(), Some(&letter.reason))
            && is_asked_for(self.request.as_ref(), letter.request.as_ref())
            && is_asked_for(self.correlation.as_ref(), letter.correlation.as_ref())
            && self.since.is_none_or(|since| buried.buried_at >= since)
            && self.before.is_none_or(|before| buried.buried_at < before)
    }
}

fn is_asked_for<T: PartialEq>(asked: Option<&T>, found: Option<&T>) -> bool {
    asked.is_none() || asked == found
}

/// What was found among the dead letters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundLetters {
    /// The newest that fit, oldest first.
    pub letters: Vec<BuriedLetter>,
    /// How many more fit, all of them older.
    pub older: usize,
    /// Messages that lie there and are no letters.
    pub strangers: Vec<NoDeadLetter>,
}

impl<E: Letters, R> Client<E, R> {
    /// The newest letters that fit, `most` at most.
    ///
    /// # Errors
    /// The broker did not answer in time.
    pub async fn letters(
        &self,
        filter: &LetterFilter,
        most: NonZeroUsize,
    ) -> Result<FoundLetters, ClientFault> {
        let (mut newest, mut found) = (VecDeque::new(), FoundLetters::default());
        let each = |read| match read {
            Ok(letter) => {
                if newest.len() == most.get() {
                    newest.pop_front();
                    found.older += 1;
                }
                newest.push_back(letter);
            }
            Err(stranger) => found.strangers.push(stranger),
        };
        self.scan(filter, each).await?;
        found.letters = newest.into();
        Ok(found)
    }

    /// The sequences of all letters that fit, oldest first.
    ///
    /// # Errors
    /// The broker did not answer in time.
    pub async fn letter_sequences(&self, filter: &LetterFilter) -> Result<Vec<u64>, ClientFault> {
        let mut sequences = Vec::new();
        let each = |read: Result<BuriedLetter, _>| {
            sequences.extend(read.ok().map(|letter| letter.sequence));
        };
        self.scan(filter, each).await?;
        Ok(sequences)
    }

    /// The letter with this sequence; none when there is none any more.
    ///
    /// # Errors
    /// The broker did not answer in time, or what lies there is no letter.
    pub async fn letter(&self, sequence: u64) -> Result<Option<BuriedLetter>, ClientFault> {
        let next = self.exchange.next_letter(sequence, None).await?;
        let found = next.filter(|message| message.sequence == sequence);
        Ok(found.map(BuriedLetter::read).transpose()?)
    }

    /// Removes a letter for good; `false` when it was not there any more.
    ///
    /// # Errors
    /// The broker did not confirm; it may be removed all the same.
    pub async fn remove_letter(&self, sequence: u64) -> Result<bool, ClientFault> {
        Ok(self.exchange.remove_letter(sequence).await?)
    }

    /// Reads everything that lies there now or comes meanwhile, oldest first.
    async fn scan(
        &self,
        filter: &LetterFilter,
        mut each: impl FnMut(Result<BuriedLetter, NoDeadLetter>),
    ) -> Result<(), ClientFault> {
        let mut from = 1;
        while let Some(message) = self.next(from, filter).await? {
            from = message.sequence.saturating_add(1);
            let read = BuriedLetter::read(message);
            if read.as_ref().map_or(true, |letter| filter.takes(letter)) {
                each(read);
            }
        }
        Ok(())
    }

    async fn next(
        &self,
        from: u64,
        filter: &LetterFilter,
    ) -> Result<Option<StoredMessage>, ClientFault> {
        Ok(self
            .exchange
            .next_letter(from, filter.target.as_ref())
            .await?)
    }
}
