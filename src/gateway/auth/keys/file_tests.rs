//! What an operator writes is read, or all its mistakes are told at once.

use std::{fs, time::Duration};

use super::*;

const TEXT: &str = r#"
[[key]]
name = "ci"
sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
skills = ["com.example.*"]
expires = 2027-01-31T00:00:00Z

[[key]]
name = "ops"
sha256 = "CB8379AC2098AA165029E3938A51DA0BCECFC008FD6795F401178647F96C5B34"
targets = ["puruto-echo"]
expires = "2027-01-31T01:00:00+01:00"
"#;

fn expiry() -> WallTime {
    WallTime::parse_rfc3339("2027-01-31T00:00:00Z").expect("a time")
}

#[test]
fn a_key_is_found_until_it_expires_and_is_good_for_what_its_entry_says() {
    let keys = parse(TEXT).expect("valid");
    let last = expiry().saturating_sub(Duration::from_millis(1));
    let ci = keys.find("abc", last).expect("known");
    assert_eq!(ci.name().as_str(), "ci");
    assert!(ci.skills().cover("com.example.translate"));
    assert!(ci.targets().is_empty() && !ci.skills().cover("com.other"));
    let ops = keys.find("def", last).expect("known");
    assert!(ops.targets().cover("puruto-echo") && ops.skills().is_empty());
    for key in ["abc", "def"] {
        assert_eq!(keys.find(key, expiry()), None, "{key}");
    }
    for unknown in ["", "ab", "abcd", "ABC"] {
        assert_eq!(keys.find(unknown, last), None, "{unknown}");
    }
}

#[test]
fn every_mistake_is_told_with_its_line_and_without_what_stands_there() {
    let text = r#"title = "sk-secret"
[[key]]
name = "sk-secret with spaces"
sha256 = "sk-secret"
skills = "*"
[[key]]
skills = ["a*b"]
expires = "sk-secret"
secret = "sk-secret"
[[key]]
name = "ci"
sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
[[key]]
name = "ci"
sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
targets = [7]
"#;
    let mistakes = parse(text).expect_err("mistakes");
    let told: Vec<_> = mistakes
        .iter()
        .map(|it| format!("{}: {}", it.line.expect("a line"), it.why))
        .collect();
    let expected = [
        "1: expected nothing but tables `[[key]]`",
        "3: `name`: expected [A-Za-z0-9][A-Za-z0-9_-]{0,63}",
        "4: `sha256`: expected the 64 hexadecimal digits of the key's SHA-256",
        "5: `skills`: expected a list of names",
        "6: `name` is missing",
        "6: `sha256` is missing",
        "7: `skills`: expected a name, or its beginning with `*` at the end, got \"a*b\"",
        "8: `expires`: expected a time with its offset, such as 2027-01-31T00:00:00Z",
        "9: expected one of `name`, `sha256`, `skills`, `targets`, `expires`",
        "10: expected `skills` or `targets`: a key is good for nothing else",
        "13: its `name` stands at the key of line 10 too",
        "13: its `sha256` stands at the key of line 10 too",
        "16: `targets`: expected a list of nothing but names",
    ];
    assert_eq!(told, expected);
}

#[test]
fn what_is_no_toml_is_told_with_its_line_and_without_what_stands_there() {
    let mistakes = parse("\n[[key]]\nname = sk-secret\n").expect_err("no toml");
    assert!(mistakes.iter().all(|it| it.line == Some(3)), "{mistakes:?}");
    assert!(
        !format!("{mistakes:?}").contains("sk-secret"),
        "{mistakes:?}"
    );
}

#[test]
fn a_file_that_is_not_there_holds_no_key_and_one_that_cannot_be_read_is_a_mistake() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("keys.toml");
    assert_eq!(KeySet::load(&file), Ok(KeySet::default()));
    fs::write(&file, TEXT).expect("written");
    assert_eq!(KeySet::load(&file).expect("valid").len(), 2);
    let mistakes = KeySet::load(dir.path()).expect_err("a folder");
    let told = format!("{}: is no regular file", dir.path().display());
    assert_eq!(mistakes.to_string(), told);
    fs::write(&file, b"\n[[key]]\nname = 7\n").expect("written");
    let told = KeySet::load(&file).expect_err("mistakes").to_string();
    let line = format!("{}:2: `sha256` is missing\n", file.display());
    assert!(told.starts_with(&line), "{told}");
}
