//! `actions`: names, or tables that say more than a name.

use toml::Value;

use super::Keys;
use crate::{
    contract::{ActionName, Violation},
    policy::FindingCode,
    puruto::{Actions, ServedAction},
};

impl Keys<'_> {
    pub(super) fn actions(&mut self) -> Actions {
        let items = self.take::<Vec<Value>>("actions").unwrap_or_default();
        let numbered = items.into_iter().enumerate();
        numbered
            .filter_map(|(index, item)| self.action(&format!("actions[{index}]"), item))
            .collect()
    }

    fn action(&mut self, at: &str, item: Value) -> Option<ServedAction> {
        match item {
            Value::String(_) => self.fit::<ActionName>(at, item).map(ServedAction::from),
            Value::Table(_) => self.fit(at, item),
            other => {
                let expected = "a name or a table {name, approval}";
                let why = Violation::new(at, expected, other.type_str());
                self.error(FindingCode::InvalidWorkerConfig, &why);
                None
            }
        }
    }
}
