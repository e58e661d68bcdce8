//! The skills of a folder, of the one that ships among them, and their change while it is watched.

use std::{collections::BTreeSet, fs, path::Path, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;

use super::{descriptor::KEYS, *};
use crate::{gateway::auth::AuthScheme, policy::Finding, puruto::Fleet};

/// Far longer than any notice or look takes; a test that reaches it has failed.
const PATIENCE: Duration = Duration::from_secs(60);

fn id(raw: &str) -> SkillId {
    raw.parse().expect("an id")
}

fn descriptor(id: &str, prompt: &str) -> String {
    let descriptor = json!({
        "protocol": "skill-sharing/1.0", "id": id, "name": "A", "version": "1",
        "capability_type": "text", "description": "A.", "provider": {"name": "Us"},
        "inputs": {"type": "object", "properties": {"text": {}}}, "output": {},
        "auth": {"type": "none"},
        "puruto": {"target": "puruto-echo", "action": "echo", "prompt": prompt},
    });
    descriptor.to_string()
}

fn write(folder: &TempDir, file: &str, text: &str) {
    fs::write(folder.path().join(file), text).expect("written");
}

/// Where each mistake is, relative to the folder.
fn places(folder: &TempDir, findings: &[Finding]) -> Vec<String> {
    let root = format!("{}/", folder.path().display());
    let place = |it: &Finding| it.path.replace(&root, "");
    findings.iter().map(place).collect()
}

#[test]
fn every_json_file_of_the_folder_is_a_skill() {
    let folder = TempDir::new().expect("a folder");
    write(&folder, "b.json", &descriptor("com.b", ""));
    write(&folder, "a.json", &descriptor("com.c", ""));
    write(&folder, "README.md", "no skill");
    write(&folder, ".hidden.json", "no skill");
    let skills = Skills::load(folder.path()).expect("two skills");
    let ids: Vec<_> = skills.iter().map(|it| it.id().as_str()).collect();
    assert_eq!(ids, ["com.b", "com.c"]);
    assert!(skills.get(&id("com.b")).is_some());
    assert!(skills.get(&id("com.a")).is_none());
    let nowhere = Skills::load(&folder.path().join("none")).expect("no skill");
    assert!(nowhere.is_empty());
}

#[test]
fn the_mistakes_of_all_files_are_told_and_an_id_is_taken_once() {
    let folder = TempDir::new().expect("a folder");
    write(&folder, "a.json", &descriptor("com.a", ""));
    write(&folder, "b.json", &descriptor("com.a", ""));
    write(&folder, "c.json", "{");
    write(&folder, "d.json", &descriptor("com.d", "{{ inputs.none }}"));
    fs::create_dir(folder.path().join("e.json")).expect("made");
    let findings = Skills::load(folder.path()).expect_err("four mistakes");
    assert_eq!(
        places(&folder, &findings),
        ["b.json#/id", "c.json", "d.json#/puruto/prompt", "e.json"]
    );
    assert!(findings[0].message.contains("a.json"), "{}", findings[0]);
    assert_eq!(check(folder.path()), findings);
}

#[test]
fn the_discovery_document_lists_what_is_published_of_each() {
    let folder = TempDir::new().expect("a folder");
    write(&folder, "a.json", &descriptor("com.a", "secret words"));
    let skills = Skills::load(folder.path()).expect("a skill");
    let gateway = "http://127.0.0.1:8080".parse().expect("an address");
    let document = skills.discovery(&gateway);
    assert_eq!(document["protocol"], "skill-sharing/1.0");
    let one = skills.descriptor(&id("com.a"), &gateway).expect("there");
    assert_eq!(document["skills"], json!([one]));
    assert!(!document.to_string().contains("secret words"));
    assert!(skills.descriptor(&id("com.b"), &gateway).is_none());
}

#[test]
fn a_timeout_in_milliseconds_is_rounded_up_to_seconds() {
    let seconds = |millis| timeout_of_millis(millis).map(TimeoutSec::duration);
    let some = |seconds| Some(Duration::from_secs(seconds));
    for (millis, rounded) in [
        (0, None),
        (1, some(1)),
        (1_000, some(1)),
        (1_001, some(2)),
        (30_000, some(30)),
        (86_400_000, some(86_400)),
        (86_400_001, None),
        (u64::MAX, None),
    ] {
        assert_eq!(seconds(millis), rounded, "{millis}");
    }
}

#[tokio::test]
async fn changed_descriptors_hold_without_a_restart_and_broken_ones_change_nothing() {
    let folder = TempDir::new().expect("a folder");
    write(&folder, "a.json", &descriptor("com.a", "one"));
    let start = Skills::load(folder.path()).expect("a skill");
    let (mut live, reloader) = watch(folder.path(), start);
    let task = tokio::spawn(reloader.run());
    let prompt = |live: &LiveSkills| {
        let skills = live.current();
        let skill = skills.get(&id("com.a")).expect("there");
        skill.prompt(&json!({})).expect("a prompt")
    };

    write(&folder, "a.json", &descriptor("com.a", "two"));
    assert!(timeout(PATIENCE, live.changed()).await.expect("noticed"));
    assert_eq!(prompt(&live), "two");

    // The good change in one file waits for the mistake in another.
    write(&folder, "b.json", "{");
    write(&folder, "a.json", &descriptor("com.a", "three"));
    let told = timeout(Duration::from_secs(3), live.changed()).await;
    assert!(told.is_err(), "a broken set was used");
    assert_eq!(prompt(&live), "two");

    write(&folder, "b.json", &descriptor("com.b", ""));
    assert!(timeout(PATIENCE, live.changed()).await.expect("noticed"));
    assert_eq!((prompt(&live).as_str(), live.current().len()), ("three", 2));
    task.abort();
}

fn shipped(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)
}

#[test]
fn the_skills_that_ship_are_served_by_the_purutos_that_ship() {
    let skills = Skills::load(&shipped("config/skills")).expect("no mistake");
    let fleet = Fleet::load(&shipped("workers")).expect("no mistake");
    let caller = "puruto-gateway".parse().expect("a name");
    assert_eq!(misfits(&skills, &fleet, &caller), []);
    let auths = skills.iter().map(|it| match it.auth() {
        AuthScheme::None => "none",
        AuthScheme::ApiKey { .. } => "api_key",
        AuthScheme::Oauth2 { .. } => "oauth2",
    });
    let auths: BTreeSet<_> = auths.collect();
    assert_eq!(auths, BTreeSet::from(["api_key", "none"]));
    assert!(skills.get(&id("com.example.translate-v1")).is_some());
}

#[test]
fn a_skill_that_nobody_serves_is_a_warning_where_it_is_named() {
    let folder = TempDir::new().expect("a folder");
    let other = |id: &str, target: &str, action: &str| {
        let mut it: Value = serde_json::from_str(&descriptor(id, "")).expect("JSON");
        it["puruto"]["target"] = json!(target);
        it["puruto"]["action"] = json!(action);
        it.to_string()
    };
    write(&folder, "a.json", &other("com.a", "puruto-none", "echo"));
    write(
        &folder,
        "b.json",
        &other("com.b", "puruto-financial", "embezzle"),
    );
    write(&folder, "c.json", &other("com.c", "puruto-echo", "echo"));
    let skills = Skills::load(folder.path()).expect("three skills");
    let fleet = Fleet::load(&shipped("workers")).expect("no mistake");
    let misfits = |caller: &str| misfits(&skills, &fleet, &caller.parse().expect("a name"));
    let found = misfits("puruto-gateway");
    assert_eq!(
        places(&folder, &found),
        ["a.json#/puruto/target", "b.json#/puruto/action"]
    );
    assert!(found.iter().all(|it| !it.is_error()));
    let denied = misfits("puruto-data");
    assert_eq!(places(&folder, &denied)[2], "c.json#/puruto");
}

const README: &str = include_str!("../../../config/skills/README.md");

/// The first column of the table under `heading`.
fn keys_under(heading: &str) -> Vec<&'static str> {
    let (_, below) = README
        .split_once(&format!("# {heading}\n"))
        .expect("the heading is there");
    below
        .lines()
        .take_while(|line| !line.starts_with('#'))
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect()
}

#[test]
fn the_readme_has_every_key_of_a_descriptor() {
    assert_eq!(keys_under("The descriptor"), KEYS);
    assert_eq!(keys_under("`endpoint`"), descriptor::ENDPOINT_KEYS);
    assert_eq!(keys_under("`puruto`"), descriptor::PURUTO_KEYS);
    for key in descriptor::RETRY_KEYS {
        assert!(README.contains(&format!("\"{key}\"")), "{key}");
    }
}
