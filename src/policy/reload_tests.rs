//! A change of a policy file holds without a restart, and a broken one changes nothing.

use std::{fs, path::Path, time::Duration};

use tempfile::TempDir;
use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{Instant, timeout},
};

use super::*;
use crate::policy::{
    FindingCode, POLICY_FILE,
    changes::{LOOK_UNWATCHED, LOOK_WATCHED},
};

/// Far longer than any notice or look takes; a test that reaches it has failed.
const PATIENCE: Duration = Duration::from_secs(60);
const _: () = assert!(PATIENCE.as_millis() > LOOK_WATCHED.as_millis());

/// A workers folder whose policies are kept current.
struct Watched {
    dir: TempDir,
    live: LivePolicies,
    changes: mpsc::UnboundedReceiver<Change>,
    task: JoinHandle<()>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Watched {
    /// Starts with the policies in `dir`, whose workers folder is `sub` of it.
    fn start(dir: TempDir, sub: &str) -> Self {
        let workers = dir.path().join(sub);
        let (set, _) = PolicySet::load(&workers);
        let (live, reloader) = watch(&workers, set);
        let (sender, changes) = mpsc::unbounded_channel();
        let task = tokio::spawn(reloader.run(move |change| {
            sender.send(change.clone()).expect("the test listens");
        }));
        Self {
            dir,
            live,
            changes,
            task,
        }
    }

    async fn next(&mut self) -> Change {
        timeout(PATIENCE, self.changes.recv())
            .await
            .expect("a change is noticed")
            .expect("the reloader runs")
    }

    fn allows(&self, target: &str) -> bool {
        let target = target.parse().expect("a name");
        let action = "pay".parse().expect("an action");
        let set = self.live.current();
        set.decide(&rich(), &target, &action, Default::default())
            .is_ok()
    }
}

fn rich() -> PurutoName {
    "rich".parse().expect("a name")
}

fn loaded() -> Change {
    Change::Loaded {
        caller: rich(),
        warnings: Vec::new(),
    }
}

fn allowing(target: &str) -> String {
    format!(r#"{{"owner":"rich","allowed_targets":["{target}"]}}"#)
}

/// Puts the file there whole, as editors do, so that no look can find half of it.
fn write(workers: &Path, text: &str) {
    let folder = workers.join("rich");
    fs::create_dir_all(&folder).expect("made");
    fs::write(folder.join("new~"), text).expect("written");
    fs::rename(folder.join("new~"), folder.join(POLICY_FILE)).expect("renamed");
}

fn folder_allowing(target: &str) -> TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    write(dir.path(), &allowing(target));
    dir
}

#[tokio::test]
async fn a_file_replaced_by_rename_holds_each_time_without_a_restart() {
    let mut watched = Watched::start(folder_allowing("bank"), "");
    assert!(watched.allows("bank"));
    for target in ["shop", "mill"] {
        write(watched.dir.path(), &allowing(target));
        assert_eq!(watched.next().await, loaded());
        assert!(watched.allows(target) && !watched.allows("bank"));
    }
}

#[tokio::test]
async fn a_file_written_in_place_holds_too() {
    let mut watched = Watched::start(folder_allowing("bank"), "");
    let file = watched.dir.path().join("rich").join(POLICY_FILE);
    fs::write(file, allowing("shop")).expect("written");
    // A look may find half of it first; then the old policy is kept until the next look.
    while watched.next().await != loaded() {
        assert!(watched.allows("bank"));
    }
    assert!(watched.allows("shop"));
}

#[tokio::test]
async fn a_broken_file_keeps_the_old_policy_is_told_once_and_can_be_mended() {
    let mut watched = Watched::start(folder_allowing("bank"), "");
    write(watched.dir.path(), r#"{"allowed_targets":"shop"}"#);
    let Change::Kept { caller, findings } = watched.next().await else {
        panic!("a broken file was used");
    };
    assert_eq!(caller, rich());
    let error = findings.iter().find(|it| it.is_error()).expect("an error");
    assert_eq!(error.code, FindingCode::IpcConfigInvalidType);
    assert!(
        error
            .path
            .ends_with("rich/.puruto-ipc.json#allowed_targets")
    );
    assert!(watched.allows("bank"));

    // Mended to what it was: told as well, since whoever was told of the mistake waits for it.
    write(watched.dir.path(), &allowing("bank"));
    assert_eq!(watched.next().await, loaded());
}

#[tokio::test]
async fn a_deleted_file_takes_its_policy_away_and_a_new_folder_brings_one() {
    let mut watched = Watched::start(folder_allowing("bank"), "");
    fs::remove_dir_all(watched.dir.path().join("rich")).expect("removed");
    assert_eq!(watched.next().await, Change::Removed { caller: rich() });
    assert!(!watched.allows("bank"));
    write(watched.dir.path(), &allowing("bank"));
    assert_eq!(watched.next().await, loaded());
    assert!(watched.allows("bank"));
}

#[tokio::test(start_paused = true)]
async fn where_nothing_can_be_watched_time_makes_it_look() {
    // The folder is not there yet, so that the watcher cannot start.
    let dir = tempfile::tempdir().expect("a folder");
    let mut watched = Watched::start(dir, "later");
    tokio::time::sleep(LOOK_UNWATCHED / 2).await;
    let began = Instant::now();
    write(&watched.dir.path().join("later"), &allowing("bank"));
    assert_eq!(watched.next().await, loaded());
    assert!(watched.allows("bank"));
    assert!(began.elapsed() <= LOOK_UNWATCHED);
}

#[tokio::test(start_paused = true)]
async fn a_workers_folder_that_vanishes_keeps_every_policy() {
    let dir = tempfile::tempdir().expect("a folder");
    write(&dir.path().join("workers"), &allowing("bank"));
    let mut watched = Watched::start(dir, "workers");
    let workers = watched.dir.path().join("workers");
    let away = watched.dir.path().join("away");
    fs::rename(&workers, &away).expect("renamed");
    tokio::time::sleep(2 * LOOK_WATCHED).await;
    assert!(watched.allows("bank"));
    assert!(watched.changes.try_recv().is_err());
    fs::rename(&away, &workers).expect("renamed");
    write(&workers, &allowing("shop"));
    assert_eq!(watched.next().await, loaded());
}

#[test]
fn a_look_that_finds_what_holds_changes_nothing_and_tells_nothing_twice() {
    let dir = folder_allowing("bank");
    let (set, _) = PolicySet::load(dir.path());
    let mut reported = BTreeMap::new();
    let mut look = || {
        let on_disk = read_policies(dir.path()).expect("readable");
        compare(&set, on_disk, &mut reported)
    };
    assert_eq!(look(), (set.clone(), Vec::new()));
    write(dir.path(), "{");
    let (held, changes) = look();
    assert_eq!((held, changes.len()), (set.clone(), 1));
    assert_eq!(look(), (set.clone(), Vec::new()));
}
