//! All skills of a folder.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{Skill, SkillId, descriptor};
use crate::policy::{Finding, FindingCode, read_bounded};

/// Longest descriptor, in bytes.
const SKILL_BYTES_MAX: u64 = 256 * 1024;
/// Most descriptors in a folder.
const SKILLS_MAX: usize = 1_000;
/// What a descriptor's file name ends in.
const EXTENSION: &str = "json";

/// All skills that are offered; cheap to clone, and the same for as long as it is held.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Skills(Arc<BTreeMap<SkillId, Skill>>);

impl Skills {
    /// Reads every `*.json` in `folder`. One that is not there holds no skill.
    ///
    /// # Errors
    /// Everything that is wrong with any of them.
    pub fn load(folder: &Path) -> Result<Self, Vec<Finding>> {
        Ok(read(folder)?.unwrap_or_default())
    }

    /// The skill of this id.
    #[must_use]
    pub fn get(&self, id: &SkillId) -> Option<&Skill> {
        self.0.get(id)
    }

    /// All skills, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &Skill> {
        self.0.values()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Everything that is wrong with the descriptors in `folder`, in the order of their names.
#[must_use]
pub fn check(folder: &Path) -> Vec<Finding> {
    read(folder).err().unwrap_or_default()
}

/// The skills of `folder`; none where there is no such folder.
pub(super) fn read(folder: &Path) -> Result<Option<Skills>, Vec<Finding>> {
    let whole = |why| vec![Finding::whole(FindingCode::InvalidSkill, folder, why)];
    let files = match descriptors(folder) {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(whole(format!("cannot be read: {error}"))),
    };
    if files.len() > SKILLS_MAX {
        let there = files.len();
        return Err(whole(format!(
            "holds {there} descriptors, {SKILLS_MAX} at most are read"
        )));
    }
    let mut skills = BTreeMap::<SkillId, Skill>::new();
    let mut findings = Vec::new();
    for file in files {
        match one(&file) {
            Ok(skill) => match skills.get(&skill.id) {
                Some(first) => findings.push(twice(&skill, first)),
                None => {
                    skills.insert(skill.id.clone(), skill);
                }
            },
            Err(mistakes) => findings.extend(mistakes),
        }
    }
    if findings.is_empty() {
        Ok(Some(Skills(Arc::new(skills))))
    } else {
        Err(findings)
    }
}

fn one(file: &Path) -> Result<Skill, Vec<Finding>> {
    let whole = |why: String| vec![Finding::whole(FindingCode::InvalidSkill, file, why)];
    match read_bounded(file, SKILL_BYTES_MAX) {
        Ok(Some(bytes)) => descriptor::read(file, &bytes),
        Ok(None) => Err(whole("is a link to nothing".to_owned())),
        Err(error) => Err(whole(error.to_string())),
    }
}

fn twice(skill: &Skill, first: &Skill) -> Finding {
    let first = first.file.display();
    let why = format!(
        "{} is taken by {first}: give each skill its own id",
        skill.id
    );
    Finding::at(FindingCode::InvalidSkill, &skill.file, "/id", why)
}

/// The descriptors in `folder`, sorted; files whose name begins with a dot are not ours.
fn descriptors(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in folder.read_dir()? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        let hidden = name.as_encoded_bytes().starts_with(b".");
        if !hidden && path.extension().is_some_and(|it| it == EXTENSION) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
