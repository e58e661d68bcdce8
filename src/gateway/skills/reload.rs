//! Keeps the skills as their descriptors say, without a restart.
//!
//! All of them or none: a set with a mistake in it is not used, so that no caller sees half of a
//! change. What holds then goes on, and the mistakes are told once.

use std::path::{Path, PathBuf};

use tokio::sync::watch as channel;

use super::set::{Skills, read};
use crate::policy::{Changes, Finding, read_aside};

/// The skills that are offered now; cheap to clone, read without waiting for whoever reloads them.
#[derive(Clone, Debug)]
pub struct LiveSkills(channel::Receiver<Skills>);

impl LiveSkills {
    /// Skills that stay as they are.
    #[must_use]
    pub fn fixed(skills: Skills) -> Self {
        Self(channel::channel(skills).1)
    }

    /// The skills that are offered now, as one consistent value.
    #[must_use]
    pub fn current(&self) -> Skills {
        self.0.borrow().clone()
    }

    /// Waits for the next change; `false` when there will be none.
    pub async fn changed(&mut self) -> bool {
        self.0.changed().await.is_ok()
    }
}

/// The skills in `folder`, beginning with `start`, and what keeps them current while it runs.
#[must_use]
pub fn watch(folder: &Path, start: Skills) -> (LiveSkills, SkillsReloader) {
    let (sender, receiver) = channel::channel(start);
    let reloader = SkillsReloader {
        folder: folder.to_owned(),
        sender,
        told: Vec::new(),
    };
    (LiveSkills(receiver), reloader)
}

/// Keeps [`LiveSkills`] as the descriptors say, for as long as [`SkillsReloader::run`] runs.
#[derive(Debug)]
pub struct SkillsReloader {
    folder: PathBuf,
    sender: channel::Sender<Skills>,
    /// The mistakes that were told last.
    told: Vec<Finding>,
}

impl SkillsReloader {
    /// Looks at the descriptors whenever they change. Runs until it is dropped.
    pub async fn run(mut self) {
        let changes = Changes::in_folder(&self.folder);
        loop {
            self.look().await;
            changes.next().await;
        }
    }

    async fn look(&mut self) {
        let folder = self.folder.clone();
        let Some(read) = read_aside(move || read(&folder)).await else {
            return;
        };
        match read {
            Ok(found) => {
                self.told.clear();
                // A folder that is away, perhaps while another takes its place, says nothing.
                if let Some(skills) = found {
                    self.apply(skills);
                }
            }
            Err(mistakes) => self.tell(mistakes),
        }
    }

    fn apply(&self, new: Skills) {
        let changed = self.sender.send_if_modified(|old| {
            let differs = new != *old;
            if differs {
                *old = new.clone();
            }
            differs
        });
        if changed {
            tracing::info!(skills = new.len(), "skills loaded");
        }
    }

    fn tell(&mut self, mistakes: Vec<Finding>) {
        if mistakes == self.told {
            return;
        }
        for finding in &mistakes {
            tracing::error!(%finding, "new skills are not used");
        }
        self.told = mistakes;
    }
}
