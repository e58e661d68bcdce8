//! What is of use after what was done: a search that may tell something new, a document that was
//! found and not yet read, a report that has something to rely on.
//!
//! So a model whose decisions a schema constrains gets from a search by way of the documents to a
//! report, however small it is. Never: a judgement of the goal, or of what was found.

use super::own::IDS_LISTED_MAX;
use crate::handler::agent::{
    documents::{DocumentId, Documents},
    past::{Past, Searched},
};

/// What is of use now.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Now<'p> {
    /// A search.
    pub(super) search: bool,
    /// These documents.
    pub(super) readable: Vec<&'p str>,
    /// A report.
    pub(super) report: bool,
    /// What it can cite.
    pub(super) sources: Vec<&'p str>,
}

impl<'p> Now<'p> {
    pub(super) fn of(documents: &'p Documents, past: &'p Past) -> Self {
        let readable = readable(documents, past);
        let search = !documents.is_empty()
            && match past.latest_search() {
                None | Some(Searched::News) => true,
                // There is something better to do.
                Some(Searched::NoNews) => readable.is_empty(),
                Some(Searched::Again) => false,
            };
        let searched = past.found().is_some();
        Self {
            search,
            // Where there is nothing to read, that can be reported.
            report: past.has_evidence()
                || documents.is_empty()
                || (searched && readable.is_empty()),
            sources: past.read().into_iter().map(|(id, _)| id).collect(),
            readable,
        }
    }
}

/// What was found and not yet read; where nothing was found, every document that was not read, if
/// they are few.
fn readable<'p>(documents: &'p Documents, past: &'p Past) -> Vec<&'p str> {
    if past.found().is_none() {
        return Vec::new();
    }
    let found = past.found_ever();
    let are_few = || documents.ids().nth(IDS_LISTED_MAX).is_none();
    let ids = if found.is_empty() && are_few() {
        documents.ids().map(DocumentId::as_str).collect()
    } else {
        found
    };
    ids.into_iter().filter(|id| !past.has_tried(id)).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::*;

    fn research() -> Documents {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("workers/puruto-research/docs");
        Documents::load(&folder).expect("documents")
    }

    fn search(words: &str, hits: &[&str]) -> (Value, Value) {
        let hits: Vec<_> = hits.iter().map(|id| json!({ "id": id })).collect();
        (
            json!({"action": "search", "args": {"query": words}}),
            json!({ "hits": hits }),
        )
    }

    fn read(id: &str) -> (Value, Value) {
        (
            json!({"action": "read", "args": {"id": id}}),
            json!({"id": id, "text": "x"}),
        )
    }

    fn used_a_tool() -> (Value, Value) {
        let decision = json!({"action": "tool", "args": {"server": "a", "name": "b", "args": {}}});
        (decision, json!({"error": "it is away"}))
    }

    /// What is of use after these steps, in words.
    fn now(documents: &Documents, done: &[(Value, Value)]) -> String {
        let past = Past::made_of(done.iter().cloned());
        let now = Now::of(documents, &past);
        let mut words = Vec::new();
        if now.search {
            words.push("search".to_owned());
        }
        words.extend(now.readable.iter().map(|id| format!("read {id}")));
        if now.report {
            words.push(format!("report{}", now.sources.concat()));
        }
        words.join(", ")
    }

    #[test]
    fn one_gets_from_a_search_by_way_of_the_documents_to_a_report() {
        let documents = research();
        let mut done = vec![];
        assert_eq!(now(&documents, &done), "search");
        done.push(search("api", &["incident", "network"]));
        assert_eq!(
            now(&documents, &done),
            "search, read incident, read network"
        );
        done.push(read("network"));
        assert_eq!(
            now(&documents, &done),
            "search, read incident, reportnetwork"
        );
        done.push(read("incident"));
        assert_eq!(now(&documents, &done), "search, reportnetworkincident");
    }

    #[test]
    fn a_search_that_told_nothing_new_is_followed_by_something_else() {
        let documents = research();
        let first = search("api", &["incident"]);
        let again = [first.clone(), first.clone()];
        assert_eq!(now(&documents, &again), "read incident");
        let other_words = [first.clone(), search("db", &["incident"])];
        assert_eq!(now(&documents, &other_words), "read incident");
        let news = [first.clone(), search("db", &["network"])];
        assert_eq!(
            now(&documents, &news),
            "search, read incident, read network"
        );
        // With all of it read other words may still find something.
        let read_all = [first.clone(), read("incident"), search("db", &["incident"])];
        assert_eq!(now(&documents, &read_all), "search, reportincident");
        let and_again = [first.clone(), read("incident"), first];
        assert_eq!(now(&documents, &and_again), "reportincident");
    }

    #[test]
    fn where_nothing_is_found_few_documents_can_all_be_read() {
        let nothing = search("zebra", &[]);
        let once = std::slice::from_ref(&nothing);
        assert_eq!(
            now(&research(), once),
            "search, read incident, read network"
        );
        let twice = [nothing.clone(), search("gnu", &[])];
        assert_eq!(now(&research(), &twice), "read incident, read network");
        let many = Documents::of_texts((0..65).map(|n| (n.to_string(), "text")));
        assert_eq!(now(&many, once), "search, report");
        assert_eq!(now(&many, &[nothing.clone(), nothing]), "report");
    }

    #[test]
    fn what_others_say_can_be_reported_and_what_cannot_be_read_is_not_tried_again() {
        assert_eq!(now(&Documents::default(), &[]), "report");
        assert_eq!(now(&research(), &[used_a_tool()]), "search, report");
        let (decision, _) = read("incident");
        let gone = [
            search("api", &["incident"]),
            (decision, json!({"error": "it is gone"})),
        ];
        assert_eq!(now(&research(), &gone), "search, report");
    }
}
