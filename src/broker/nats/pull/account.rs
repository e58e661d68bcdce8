//! What a lane has asked for, and what of it has come.
//!
//! Never: more asked of the broker than was demanded.

/// The counts of one lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Account {
    demanded: usize,
    asked: usize,
}

impl Account {
    /// Deliveries that the caller still waits for.
    pub(super) const fn demanded(&self) -> usize {
        self.demanded
    }

    /// Deliveries that the broker still owes to standing pulls.
    pub(super) const fn asked(&self) -> usize {
        self.asked
    }

    /// The caller wants `more`.
    pub(super) const fn demand(&mut self, more: usize) {
        self.demanded = self.demanded.saturating_add(more);
    }

    /// The caller wants nothing any more, and no pull stands.
    pub(super) const fn withdraw(&mut self) {
        *self = Self {
            demanded: 0,
            asked: 0,
        };
    }

    /// What the next pull asks for.
    pub(super) const fn shortfall(&self) -> usize {
        self.demanded.saturating_sub(self.asked)
    }

    /// Whether so little is asked for that a pull should not wait until nothing is buffered.
    pub(super) const fn is_low(&self) -> bool {
        self.shortfall() > self.asked
    }

    /// A pull for `many` was sent.
    pub(super) const fn sent(&mut self, many: usize) {
        self.asked = self.asked.saturating_add(many);
    }

    /// A delivery came.
    pub(super) const fn arrived(&mut self) {
        self.asked = self.asked.saturating_sub(1);
        self.demanded = self.demanded.saturating_sub(1);
    }

    /// A pull ended with `many` deliveries unfilled.
    pub(super) const fn unfilled(&mut self, many: usize) {
        self.asked = self.asked.saturating_sub(many);
    }

    /// No pull stands any more.
    pub(super) const fn forget_pulls(&mut self) {
        self.asked = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pull_left_unfilled_is_asked_for_again() {
        let mut account = Account::default();
        account.demand(3);
        account.demand(2);
        assert_eq!(account.shortfall(), 5);
        account.sent(5);
        account.arrived();
        account.unfilled(4);
        assert_eq!((account.demanded(), account.shortfall()), (4, 4));
    }

    #[test]
    fn small_demands_are_gathered_while_much_is_on_its_way() {
        let mut account = Account::default();
        account.demand(100);
        assert!(account.is_low());
        account.sent(100);
        for _ in 0..50 {
            account.arrived();
            account.demand(1);
        }
        assert!(!account.is_low());
        account.arrived();
        account.demand(1);
        assert!(account.is_low());
        assert_eq!(account.shortfall(), 51);
    }

    #[test]
    fn nothing_is_asked_for_after_a_withdrawal() {
        let mut account = Account::default();
        account.demand(3);
        account.sent(3);
        account.withdraw();
        account.arrived();
        assert_eq!(account, Account::default());
    }
}
