//! The tree of a chain: which request asked which, and how each of them stands.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Client, ClientFault, Happenings};
use crate::{
    broker::ResultMessage,
    contract::{ActionName, CorrelationId, Header, InvocationResult, PurutoName, RequestId, Spent},
    store::{Record, RecordState, Records, RequestKey, Waits, kin::Child},
};

/// Requests of one chain that are looked at, at most.
const NODES_MAX: usize = 10_000;

/// A chain, as far as anything is still known of it.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The chain, where its name is known.
    pub chain: Option<CorrelationId>,
    /// What nobody in it asked for, each with what is below it.
    pub roots: Vec<Node>,
}

/// A request of a chain.
#[derive(Clone, Debug)]
pub struct Node {
    /// The request.
    pub key: RequestKey,
    /// What it is asked to do, where that is known.
    pub action: Option<ActionName>,
    /// Its record, if there is one.
    pub record: Option<Record>,
    /// Its result, if it stands in the stream.
    pub result: Option<InvocationResult>,
    /// What it and all below it spent so far.
    pub spent: Spent,
    /// Those that it asked, in the order in which it did.
    pub children: Vec<Self>,
}

/// What the store knows of one request.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) record: Option<Record>,
    children: Vec<Child>,
}

pub(super) type Flat = BTreeMap<RequestKey, Found>;
type Results = BTreeMap<RequestKey, InvocationResult>;

impl Found {
    pub(super) fn is_done(&self) -> bool {
        let state = self.record.as_ref().map(|it| &it.state);
        matches!(state, Some(RecordState::Done { .. }))
    }
}

impl<E: Happenings, R: Records + Waits> Client<E, R> {
    /// Everything that is known of a chain.
    ///
    /// # Errors
    /// Broker or store did not answer, or nothing is known of it.
    pub async fn tree(&self, chain: &CorrelationId) -> Result<Tree, ClientFault> {
        let results = self.results_of(chain).await?;
        let mut starts: BTreeSet<_> = results.keys().cloned().collect();
        starts.extend(self.starts_of(chain).await?);
        let flat = self.descend(starts).await?;
        if flat.is_empty() {
            let chain = chain.clone();
            return Err(ClientFault::ChainUnknown { chain });
        }
        let roots = roots_of(&flat);
        Ok(Tree::grown(Some(chain.clone()), roots, flat, results))
    }

    /// Everything that is known of a request and of those below it.
    ///
    /// # Errors
    /// Broker or store did not answer, or it is not known which request is meant.
    pub async fn tree_below(
        &self,
        request: &RequestId,
        target: Option<&PurutoName>,
    ) -> Result<Tree, ClientFault> {
        let key = self.key_of(request, target).await?;
        let flat = self.descend(BTreeSet::from([key.clone()])).await?;
        let record = flat.get(&key).and_then(|it| it.record.as_ref());
        let chain = record.and_then(|it| it.correlation.clone());
        let results = match &chain {
            Some(chain) => self.results_of(chain).await?,
            None => Results::new(),
        };
        Ok(Tree::grown(chain, vec![key], flat, results))
    }

    /// What is known of the requests of a chain, each by itself.
    pub(super) async fn flat(&self, chain: &CorrelationId) -> Result<Flat, ClientFault> {
        let starts = self.starts_of(chain).await?;
        self.descend(starts).await
    }

    /// Requests of a chain from which the others are found: those that asked others, and all of
    /// which something was told.
    async fn starts_of(&self, chain: &CorrelationId) -> Result<BTreeSet<RequestKey>, ClientFault> {
        let told = self.events_of(chain).await?.into_iter();
        let told = told.map(|event| RequestKey {
            target: event.target,
            request: event.request_id,
        });
        let roots = self.records.roots(chain).await?;
        Ok(told.chain(roots).collect())
    }

    async fn results_of(&self, chain: &CorrelationId) -> Result<Results, ClientFault> {
        let stored = self.exchange.stored_results(chain).await?;
        Ok(stored.iter().filter_map(keyed).collect())
    }

    /// These requests, the first ones of their chain, and all that any of them asked.
    async fn descend(&self, starts: BTreeSet<RequestKey>) -> Result<Flat, ClientFault> {
        let (mut flat, mut next) = (Flat::new(), VecDeque::from_iter(starts));
        while let Some(key) = next.pop_front() {
            if flat.contains_key(&key) || flat.len() == NODES_MAX {
                continue;
            }
            let found = self.look_up(&key).await?;
            next.extend(found.children.iter().map(|child| child.key.clone()));
            flat.insert(key, found);
        }
        Ok(flat)
    }

    async fn look_up(&self, key: &RequestKey) -> Result<Found, ClientFault> {
        let records = self.records.read(std::slice::from_ref(key)).await?;
        Ok(Found {
            record: records.into_iter().next().flatten(),
            children: self.records.children(key).await?,
        })
    }
}

fn keyed(message: &ResultMessage) -> Option<(RequestKey, InvocationResult)> {
    let target = message.headers.get(Header::Target)?.parse().ok()?;
    let result: InvocationResult = serde_json::from_slice(&message.body).ok()?;
    let request = result.request_id.clone();
    Some((RequestKey { target, request }, result))
}

/// Those that none of the others asked.
fn roots_of(flat: &Flat) -> Vec<RequestKey> {
    let children = flat.values().flat_map(|found| &found.children);
    let asked: BTreeSet<_> = children.map(|child| &child.key).collect();
    let roots = flat.keys().filter(|key| !asked.contains(key));
    roots.cloned().collect()
}

impl Tree {
    fn grown(
        chain: Option<CorrelationId>,
        roots: Vec<RequestKey>,
        flat: Flat,
        results: Results,
    ) -> Self {
        let mut soil = Soil { flat, results };
        let roots = roots.into_iter().map(|key| soil.grow(key, None));
        Self {
            chain,
            roots: roots.collect(),
        }
    }
}

/// What a tree grows from; each request is in it once.
struct Soil {
    flat: Flat,
    results: Results,
}

impl Soil {
    /// A request asks no deeper than hops go, so this does not either.
    fn grow(&mut self, key: RequestKey, action: Option<ActionName>) -> Node {
        let found = self.flat.remove(&key);
        let (record, asked) = found.map_or((None, Vec::new()), |it| (it.record, it.children));
        let mut spent = record.as_ref().map_or_else(Spent::default, |it| it.spent);
        let mut children = Vec::with_capacity(asked.len());
        for child in asked {
            let node = self.grow(child.key, Some(child.action));
            if !node.is_done() {
                // Its parent is charged for all that it may spend until it ends.
                spent = spent.without(&child.limits.as_spent());
                spent += node.spent;
            }
            children.push(node);
        }
        Node {
            action: action.or_else(|| action_by(&children)),
            result: self.results.remove(&key),
            key,
            record,
            spent,
            children,
        }
    }
}

/// What a request was asked to do, by what its children's records say of their origin.
fn action_by(children: &[Node]) -> Option<ActionName> {
    let records = children.iter().filter_map(|it| it.record.as_ref());
    let mut lineages = records.filter_map(|it| it.lineage.as_ref());
    let parent = lineages.find_map(|it| it.ancestry.as_slice().last())?;
    Some(parent.action.clone())
}

impl Node {
    /// Whether it has its result.
    #[must_use]
    pub fn is_done(&self) -> bool {
        let state = self.record.as_ref().map(|it| &it.state);
        self.result.is_some() || matches!(state, Some(RecordState::Done { .. }))
    }
}
