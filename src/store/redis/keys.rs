//! What the keys are called, and which of them one call may name together.

use std::fmt::Write as _;

use super::{
    super::{RequestKey, SessionId, executions::Owner},
    options::{KeyPrefix, Partitions, RedisOptions, Spread},
};
use crate::{
    circuit::CircuitName,
    contract::{CorrelationId, RequestId},
};

/// One of the partitions, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Partition(u16);

/// The partition that also holds what describes the whole data set.
const HOME: Partition = Partition(0);

/// Names keys.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    prefix: KeyPrefix,
    pub(super) partitions: Partitions,
    spread: Spread,
}

impl Keys {
    pub(super) fn new(options: &RedisOptions) -> Self {
        Self {
            prefix: options.prefix.clone(),
            partitions: options.partitions,
            spread: options.spread,
        }
    }

    /// Where a request's keys lie. The same for ever.
    pub(super) fn partition(&self, key: &RequestKey) -> Partition {
        self.partition_of(key.request.as_str())
    }

    /// The key of a circuit; the others that belong to it lie in the same partition.
    pub(super) fn circuit(&self, circuit: &CircuitName) -> String {
        let partition = self.partition_of(circuit.as_str());
        self.key(partition, "circuit:", circuit.as_str())
    }

    /// FNV-1a over the name, its halves folded.
    fn partition_of(&self, name: &str) -> Partition {
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        // The low bits alone depend on the low bits of each byte alone.
        let folded = hash ^ (hash >> 32);
        let partition = folded % u64::from(self.partitions.number());
        Partition(u16::try_from(partition).unwrap_or_default())
    }

    /// Replaces `text` by the key of a request's record.
    pub(super) fn write_record(&self, text: &mut String, key: &RequestKey) {
        self.write_beside(text, "req:", key);
    }

    /// The key of every child that a request ever asked for.
    pub(super) fn kids(&self, key: &RequestKey) -> String {
        let mut text = String::new();
        self.write_beside(&mut text, "kids:", key);
        text
    }

    fn write_beside(&self, text: &mut String, kind: &str, key: &RequestKey) {
        text.clear();
        self.write_base(text, self.partition(key));
        text.push_str(kind);
        text.push_str(key.target.as_str());
        text.push(':');
        text.push_str(key.request.as_str());
    }

    /// The key of a session in each partition, in groups that may go into one call.
    pub(super) fn sessions(&self, session: &SessionId) -> Vec<Vec<String>> {
        self.everywhere("session:", session.as_str())
    }

    /// The index of the waiting requests in each partition, in groups that may go into one call.
    pub(super) fn waits(&self) -> Vec<Vec<String>> {
        self.everywhere("waits", "")
    }

    /// The key of an owner's execution; both of an owner's kinds of keys lie in one partition.
    pub(super) fn execution(&self, owner: &Owner, id: &RequestId) -> String {
        let partition = self.partition_of(owner.as_str());
        self.key(partition, "exec:", &format!("{owner}:{id}"))
    }

    /// The list of an owner's executions.
    pub(super) fn executions(&self, owner: &Owner) -> String {
        self.key(self.partition_of(owner.as_str()), "execs:", owner.as_str())
    }

    /// Where a chain's first requests are found.
    pub(super) fn chain(&self, chain: &CorrelationId) -> String {
        self.key(self.partition_of(chain.as_str()), "chain:", chain.as_str())
    }

    fn everywhere(&self, kind: &str, rest: &str) -> Vec<Vec<String>> {
        let all =
            (0..self.partitions.number()).map(|number| self.key(Partition(number), kind, rest));
        match self.spread {
            Spread::OneNode => vec![all.collect()],
            Spread::OnePartition => all.map(|key| vec![key]).collect(),
        }
    }

    /// The key of a session where the whole data set is described.
    pub(super) fn session_at_home(&self, session: &SessionId) -> String {
        self.key(HOME, "session:", session.as_str())
    }

    /// A key that describes the whole data set.
    pub(super) fn home(&self, name: &str) -> String {
        self.key(HOME, name, "")
    }

    /// `items` in groups that may go into one call.
    pub(super) fn group<T>(&self, items: Vec<T>, key: impl Fn(&T) -> &RequestKey) -> Vec<Vec<T>> {
        if self.spread == Spread::OneNode {
            return vec![items];
        }
        let mut groups: Vec<(Partition, Vec<T>)> = Vec::new();
        for item in items {
            let partition = self.partition(key(&item));
            match groups.iter_mut().find(|(it, _)| *it == partition) {
                Some((_, group)) => group.push(item),
                None => groups.push((partition, vec![item])),
            }
        }
        groups.into_iter().map(|(_, group)| group).collect()
    }

    fn key(&self, partition: Partition, kind: &str, rest: &str) -> String {
        let mut text = String::with_capacity(96);
        self.write_base(&mut text, partition);
        text.push_str(kind);
        text.push_str(rest);
        text
    }

    fn write_base(&self, text: &mut String, Partition(number): Partition) {
        // Writing to a string cannot fail.
        let _infallible = write!(text, "{}:{{p{number:02}}}:", self.prefix.as_str());
    }
}

/// The request of a held or cancelled set's member, `<target>:<request_id>`.
pub(super) fn member(text: &str) -> Option<RequestKey> {
    // A target has no colon; a request id may.
    let (target, request) = text.split_once(':')?;
    Some(RequestKey {
        target: target.parse().ok()?,
        request: request.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(spread: Spread) -> Keys {
        let url = "redis://127.0.0.1".parse().expect("valid");
        Keys::new(&RedisOptions {
            spread,
            ..RedisOptions::new(url)
        })
    }

    fn request(id: &str) -> RequestKey {
        member(&format!("echo:{id}")).expect("valid")
    }

    #[test]
    fn a_record_lies_where_it_always_lay() {
        let mut text = "left over".into();
        keys(Spread::OneNode).write_record(&mut text, &request("a:b c"));
        assert_eq!(text, "puruto:{p02}:req:echo:a:b c");
        keys(Spread::OneNode).write_record(&mut text, &request("7"));
        assert_eq!(text, "puruto:{p10}:req:echo:7");
    }

    #[test]
    fn one_node_takes_everything_in_one_call_and_a_cluster_one_partition() {
        let requests: Vec<_> = (0..100).map(|n| request(&n.to_string())).collect();
        assert_eq!(
            keys(Spread::OneNode).group(requests.clone(), |it| it).len(),
            1
        );

        let keys = keys(Spread::OnePartition);
        let groups = keys.group(requests, |it| it);
        assert_eq!(groups.len(), 16);
        assert_eq!(groups.iter().map(Vec::len).sum::<usize>(), 100);
        for group in groups {
            let first = keys.partition(&group[0]);
            assert!(group.iter().all(|it| keys.partition(it) == first));
        }
    }
}
