//! The keys that hold now, as the file says, without a restart.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::sync::watch as channel;

use super::{KeyMistakes, KeySet};
use crate::policy::{Changes, read_aside};

/// The keys that hold now; cheap to clone, read without waiting for whoever reloads them.
#[derive(Clone, Debug)]
pub struct LiveKeys(channel::Receiver<Arc<KeySet>>);

impl LiveKeys {
    /// Keys that stay as they are.
    #[must_use]
    pub fn fixed(keys: KeySet) -> Self {
        Self(channel::channel(Arc::new(keys)).1)
    }

    /// The keys that hold now, as one consistent value.
    #[must_use]
    pub fn current(&self) -> Arc<KeySet> {
        Arc::clone(&self.0.borrow())
    }
}

/// The keys in `file`, beginning with `start`, and what keeps them current while it runs.
#[must_use]
pub fn watch(file: &Path, start: KeySet) -> (LiveKeys, KeysReloader) {
    let (sender, receiver) = channel::channel(Arc::new(start));
    let reloader = KeysReloader {
        file: file.to_owned(),
        sender,
        told: None,
    };
    (LiveKeys(receiver), reloader)
}

/// Keeps [`LiveKeys`] as the file says, for as long as [`KeysReloader::run`] runs.
#[derive(Debug)]
pub struct KeysReloader {
    file: PathBuf,
    sender: channel::Sender<Arc<KeySet>>,
    /// What was told of a broken file, so that it is told once.
    told: Option<KeyMistakes>,
}

impl KeysReloader {
    /// Looks at the file whenever it changes. Runs until it is dropped.
    pub async fn run(mut self) {
        // A file's name alone has an empty parent, which no system can watch.
        let folder = self.file.parent().filter(|it| !it.as_os_str().is_empty());
        let changes = Changes::in_folder(folder.unwrap_or_else(|| Path::new(".")));
        loop {
            self.look().await;
            changes.next().await;
        }
    }

    async fn look(&mut self) {
        let file = self.file.clone();
        let Some(read) = read_aside(move || KeySet::load(&file)).await else {
            return;
        };
        match read {
            Ok(keys) => {
                let mended = self.told.take().is_some();
                if mended || **self.sender.borrow() != keys {
                    tracing::info!(keys = keys.len(), "the gateway's keys are loaded");
                    self.sender.send_replace(Arc::new(keys));
                }
            }
            // The old keys hold on: a slip of the pen must lock nobody out.
            Err(mistakes) if self.told.as_ref() != Some(&mistakes) => {
                tracing::error!(%mistakes, "the new file of keys is not used");
                self.told = Some(mistakes);
            }
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use tokio::time::timeout;

    use super::*;
    use crate::{clock::WallTime, gateway::auth::keys::KeyDigest};

    /// Far longer than any notice or look takes; a test that reaches it has failed.
    const PATIENCE: Duration = Duration::from_secs(60);

    fn entry(key: &str) -> String {
        let digest = KeyDigest::of(key);
        format!("[[key]]\nname = \"a\"\nsha256 = \"{digest}\"\nskills = [\"*\"]\n")
    }

    /// Puts the file there whole, as editors do, so that no look can find half of it.
    fn write(file: &Path, text: &str) {
        fs::write(file.with_extension("new"), text).expect("written");
        fs::rename(file.with_extension("new"), file).expect("renamed");
    }

    async fn becomes(live: &mut LiveKeys, known: &str) {
        let now = WallTime::from_unix_millis(0);
        let found = live.0.wait_for(|keys| keys.find(known, now).is_some());
        let found = timeout(PATIENCE, found).await.expect("a change is noticed");
        drop(found.expect("the reloader runs"));
    }

    #[tokio::test]
    async fn a_new_key_holds_without_a_restart_and_a_broken_file_takes_none_away() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("keys.toml");
        let (mut live, reloader) = watch(&file, KeySet::default());
        let task = tokio::spawn(reloader.run());
        for key in ["one", "two"] {
            write(&file, &entry(key));
            becomes(&mut live, key).await;
        }
        let now = WallTime::from_unix_millis(0);
        assert!(live.current().find("one", now).is_none());
        task.abort();
    }

    #[tokio::test]
    async fn a_look_at_a_broken_file_keeps_the_keys_and_one_that_is_gone_takes_them_away() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("keys.toml");
        write(&file, &entry("one"));
        let start = KeySet::load(&file).expect("valid");
        let (live, mut reloader) = watch(&file, start.clone());
        write(&file, "[[key]]");
        reloader.look().await;
        assert_eq!(*live.current(), start);
        assert!(reloader.told.is_some());
        fs::remove_file(&file).expect("removed");
        reloader.look().await;
        assert!(live.current().is_empty() && reloader.told.is_none());
    }
}
